use super::*;
use crate::configuration::{Generation, Route};
use coder_digest::{Digest, ModelName};
use rstest::rstest;

#[rstest]
#[case::boundary(
    Access::Boundary,
    System::Linux,
    "network_namespace_isolated",
    "workspace_and_system"
)]
#[case::boundary_mac(
    Access::Boundary,
    System::MacOs,
    "external_ip_denied_localhost_allowed",
    "workspace_and_system"
)]
#[case::toolchains(Access::Toolchains, System::Linux, "host_network", "workspace_system_and_toolchains")]
#[case::full(Access::Full, System::MacOs, "host_network", "host_user")]
fn the_table_of_an_access_mode(
    #[case] access: Access,
    #[case] system: System,
    #[case] network: &'static str,
    #[case] read_scope: &'static str,
) {
    let mut configuration = Configuration::new(Route::new(ModelName::new("m").unwrap(), Generation::Synthetic));
    configuration.access = access;
    let labels = Labels { network, read_scope };
    assert_eq!(Labels::of_repository(&configuration, system), labels);
    configuration.container = Some(crate::ContainerProfile {
        docker_program: "/usr/bin/docker".into(),
        docker_digest: Digest::of(b""),
        socket: "/run/docker.sock".into(),
        image: Digest::of(b""),
        uid: 1,
        gid: 1,
    });
    let contained = Labels {
        network: "container_network_none",
        read_scope: "workspace_host_reads_and_pinned_container_image",
    };
    assert_eq!(Labels::of_repository(&configuration, system), contained);
}

#[rstest]
#[case::listed(Access::Boundary, "allow:a.test:443", "network_allow_list", "workspace_and_system")]
#[case::open(Access::Boundary, "host", "host_network", "workspace_and_system")]
#[case::listed_tools(
    Access::Toolchains,
    "allow:a.test:443",
    "network_allow_list",
    "workspace_system_and_toolchains"
)]
#[case::offline_tools(
    Access::Toolchains,
    "none",
    "network_namespace_isolated",
    "workspace_system_and_toolchains"
)]
fn a_named_network_has_its_own_label(
    #[case] access: Access,
    #[case] written: &str,
    #[case] network: &'static str,
    #[case] read_scope: &'static str,
) {
    let mut configuration = Configuration::new(Route::new(ModelName::new("m").unwrap(), Generation::Synthetic));
    configuration.access = access;
    configuration.network = Some(written.parse().unwrap());
    let labels = Labels { network, read_scope };
    assert_eq!(Labels::of_repository(&configuration, System::Linux), labels);
}
