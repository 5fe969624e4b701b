//! The two labels of an admission (facts 3.6): which network the run has, and what it may read. A record that is replayed
//! must carry exactly these, so they are made from the grant alone and in one place.

use crate::configuration::{Access, Configuration};
use coder_boundary::Network;
use coder_boundary::toolchains::System;

/// The labels of one admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Labels {
    pub(crate) network: &'static str,
    pub(crate) read_scope: &'static str,
}

impl Labels {
    /// Those of a run under `configuration`.
    pub(crate) fn of_repository(configuration: &Configuration, system: System) -> Self {
        match (&configuration.container, configuration.access) {
            (Some(_), _) => Self {
                network: "container_network_none",
                read_scope: "workspace_host_reads_and_pinned_container_image",
            },
            (None, Access::Full) => Self {
                network: "host_network",
                read_scope: "host_user",
            },
            (None, Access::Toolchains) => Self {
                network: network(&configuration.network(), system),
                read_scope: "workspace_system_and_toolchains",
            },
            (None, Access::Boundary) => Self {
                network: network(&configuration.network(), system),
                ..Self::of_boundary(system)
            },
        }
    }

    /// Those of the offline boundary, in which a bounded command always runs.
    pub(crate) fn of_boundary(system: System) -> Self {
        Self {
            network: network(&Network::None, system),
            read_scope: "workspace_and_system",
        }
    }
}

fn network(network: &Network, system: System) -> &'static str {
    match (network, system) {
        (Network::None, System::Linux) => "network_namespace_isolated",
        (Network::None, System::MacOs) => "external_ip_denied_localhost_allowed",
        (Network::Host, _) => "host_network",
        (Network::Allow(_), _) => "network_allow_list",
    }
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
