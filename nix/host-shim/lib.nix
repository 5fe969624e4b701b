# The few functions of nixpkgs' `lib` that the flake uses, under the same names and with the same meaning.
let
  hasPrefix = prefix: text: builtins.substring 0 (builtins.stringLength prefix) text == prefix;

  # A file set is a list of path names here: enough for `unions` and `toSource`, which is all the flake asks of it.
  members = set: if builtins.isList set then set else [ (toString set) ];
in
{
  inherit hasPrefix;

  genAttrs =
    names: f:
    builtins.listToAttrs (
      map (name: {
        inherit name;
        value = f name;
      }) names
    );
  getExe = package: "${package}/bin/${package.meta.mainProgram}";
  importTOML = file: builtins.fromTOML (builtins.readFile file);
  makeBinPath = packages: builtins.concatStringsSep ":" (map (package: "${package}/bin") packages);

  fileset = {
    maybeMissing = path: if builtins.pathExists path then path else [ ];
    unions = sets: builtins.concatLists (map members sets);
    toSource =
      { root, fileset }:
      builtins.path {
        path = root;
        name = "source";
        # A folder is entered when it leads to a member; everything below a member is kept.
        filter =
          name: type:
          builtins.any (
            member: name == member || hasPrefix "${member}/" name || (type == "directory" && hasPrefix "${name}/" member)
          ) (members fileset);
      };
  };

  licenses = {
    asl20.spdxId = "Apache-2.0";
    mit.spdxId = "MIT";
  };
  platforms.linux = [
    "x86_64-linux"
    "aarch64-linux"
  ];
}
