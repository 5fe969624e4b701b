{
  description = "Microcoder: runs coding agents on a repository under an exact grant, inside a kernel-enforced boundary, with evidence";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;

      # Linux only: the boundary is made of namespaces, Landlock and seccomp. Darwin joins this list when there is a boundary
      # for it; until then a build there would be a host that must refuse every run.
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      eachSystem = f: lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system} self.packages.${system});

      sources = import ./nix/sources.nix { inherit lib; };
      app = program: package: {
        type = "app";
        program = "${package}/bin/${program}";
        meta = { inherit (package.meta) description; };
      };
    in
    {
      packages = eachSystem (
        pkgs: packages: {
          default = packages.microcoder;
          microcoder = pkgs.callPackage ./nix/microcoder.nix { inherit sources; };
          coder-core = pkgs.callPackage ./nix/coder-core.nix { inherit sources; };
        }
      );

      apps = eachSystem (
        pkgs: packages: {
          default = app "microcoder" packages.microcoder;
          microcoder = app "microcoder" packages.microcoder;
          coder = app "coder" packages.microcoder;
        }
      );

      checks = eachSystem (
        pkgs: packages:
        import ./nix/checks.nix {
          inherit pkgs sources;
          inherit (packages) microcoder coder-core;
        }
      );

      devShells = eachSystem (
        pkgs: packages: {
          default = pkgs.mkShell {
            packages = [
              pkgs.cargo
              pkgs.rustc
              pkgs.clippy
              pkgs.rustfmt
              pkgs.git
              pkgs.maturin
              pkgs.mypy
              pkgs.ruff
              (pkgs.python3.withPackages (python: [
                python.pytest
                python.hypothesis
              ]))
            ];
          };
        }
      );

      formatter = eachSystem (pkgs: packages: pkgs.nixfmt-tree);
    };
}
