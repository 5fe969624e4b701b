# The package set: each tool is a folder of scripts that start the host's own programs, each build hook a script beside this file, and a
# derivation runs the phases that nixpkgs' stdenv would run.
{ lib, system }:
let
  host =
    if builtins.pathExists ./host.nix then
      import ./host.nix
    else
      throw "nix/host-shim/host.nix is missing: run nix/host-shim/mkhost.sh first";

  mkDerivation =
    arguments:
    let
      name = arguments.name or "${arguments.pname}-${arguments.version}";
      checks = if arguments.doCheck or false then arguments.nativeCheckInputs or [ ] else [ ];
      inputs = (arguments.nativeBuildInputs or [ ]) ++ (arguments.packages or [ ]) ++ checks;
      # Attribute sets cannot become variables of the builder.
      plain = removeAttrs arguments [
        "cargoLock"
        "env"
        "meta"
        "nativeCheckInputs"
        "packages"
        "passthru"
      ];
      result = derivation (
        plain
        // (arguments.env or { })
        // {
          inherit name system;
          # `nix develop` reads these two.
          outputs = [ "out" ];
          stdenv = "${./stdenv}";
          builder = host.bash;
          args = [
            "-e"
            ./driver.sh
          ];
          nativeBuildInputs = inputs;
          inputPath = lib.makeBinPath inputs;
          basePath = host.basePath;
        }
      );
    in
    result
    // {
      inherit name;
      meta = arguments.meta or { };
    }
    // (arguments.passthru or { });

  # The named programs of the host, each by a script and not a link: an interpreter finds its packages by the path it is called by.
  # A program that is missing fails the build that needs it, by name.
  fromHost =
    pname: programs:
    mkDerivation {
      inherit pname programs;
      version = "host";
      hostPath = host.path;
      SHELL = host.bash;
      dontUnpack = true;
      buildPhase = ''
        mkdir -p $out/bin
        for program in $programs; do
          found=$(PATH=$hostPath command -v "$program") || { echo "this host has no $program" >&2; exit 1; }
          printf '#!%s\nexec "%s" "$@"\n' "$SHELL" "$found" > "$out/bin/$program"
          chmod +x "$out/bin/$program"
        done
      '';
      installPhase = ":";
    };

  # A folder with a setup hook, and the tools that the hook runs.
  hook =
    pname: tools: variables:
    mkDerivation (
      {
        inherit pname;
        version = "host";
        dontUnpack = true;
        hookFile = ./hooks + "/${pname}.sh";
        propagated = tools;
        buildPhase = ''
          mkdir -p $out/bin $out/nix-support
          cp $hookFile $out/nix-support/setup-hook
          for tool in $propagated; do ln -s $tool/bin/* $out/bin/; done
        '';
        installPhase = ":";
      }
      // variables
    );

  rustcTarget = "${builtins.head (builtins.split "-" system)}-unknown-linux-gnu";

  cargo = fromHost "cargo" [ "cargo" ];
  rustc = fromHost "rustc" [
    "rustc"
    "rustdoc"
  ];
  python3 = fromHost "python3" [ "python3" ] // {
    withPackages = select: fromHost "python3-with-packages" [ "python3" ];
  };
  maturin = fromHost "maturin" [ "maturin" ];

  rustPlatform = {
    # The crates come from the host's cargo home; the lock is what `--frozen` holds the build to.
    importCargoLock = { lockFile }: lockFile;
    cargoSetupHook = hook "cargo-setup" [ cargo rustc ] { };
    cargoBuildHook = hook "cargo-build" [ ] { };
    cargoCheckHook = hook "cargo-check" [ ] { };
    cargoInstallHook = hook "cargo-install" [ ] { };
    maturinBuildHook = hook "maturin-build" [ cargo maturin rustc ] { };
    buildRustPackage =
      arguments:
      mkDerivation (
        {
          doCheck = true;
          buildType = "release";
        }
        // arguments
        // {
          inherit rustcTarget;
          hostCargoHome = host.cargoHome;
          nativeBuildInputs =
            (arguments.nativeBuildInputs or [ ])
            ++ (with rustPlatform; [
              cargoSetupHook
              cargoBuildHook
              cargoCheckHook
              cargoInstallHook
            ]);
        }
      );
  };

  python3Packages = {
    pytestCheckHook = hook "pytest-check" [ ] { };
    hypothesis = hook "nothing" [ ] { };
    buildPythonPackage =
      arguments:
      mkDerivation (
        { doCheck = true; }
        // arguments
        // {
          inherit rustcTarget;
          hostCargoHome = host.cargoHome;
          nativeBuildInputs = (arguments.nativeBuildInputs or [ ]) ++ [
            python3
            (hook "python-install" [ ] { })
          ];
        }
      );
  };

  packages = {
    inherit
      cargo
      lib
      maturin
      python3
      python3Packages
      rustPlatform
      rustc
      ;
    stdenv = {
      inherit mkDerivation;
      hostPlatform = {
        inherit system;
        rust = { inherit rustcTarget; };
      };
    };
    callPackage =
      file: extra:
      let
        function = import file;
      in
      function (builtins.intersectAttrs (builtins.functionArgs function) packages // extra);
    clippy = fromHost "clippy" [
      "cargo-clippy"
      "clippy-driver"
    ];
    rustfmt = fromHost "rustfmt" [
      "cargo-fmt"
      "rustfmt"
    ];
    git = fromHost "git" [ "git" ];
    mypy = fromHost "mypy" [ "mypy" ];
    ruff = fromHost "ruff" [ "ruff" ];
    nixfmt-tree = fromHost "nixfmt-tree" [ "nixfmt" ];
    runCommand =
      name: variables: script:
      mkDerivation (
        {
          inherit name;
          dontUnpack = true;
          buildPhase = script;
          installPhase = ":";
        }
        // variables
      );
    mkShell =
      arguments:
      mkDerivation (
        {
          name = "nix-shell";
          dontUnpack = true;
          buildPhase = "touch $out";
          installPhase = ":";
        }
        // arguments
      );
  };
in
packages
