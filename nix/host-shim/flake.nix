# Stands in for nixpkgs on a machine that has Nix but cannot fetch nixpkgs. See README.md.
{
  outputs =
    { self }:
    let
      lib = import ./lib.nix;
    in
    {
      inherit lib;
      legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (
        system: import ./default.nix { inherit lib system; }
      );
    };
}
