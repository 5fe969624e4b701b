//! Tests of `probe`.

use super::*;

#[test]
fn a_refused_clone_is_explained_and_other_errors_are_not() {
    let refused = |flags| coder_process::Error::Namespaces {
        flags,
        source: io::Error::from_raw_os_error(libc::ENOSPC),
    };
    let gap = explain(&refused(libc::CLONE_NEWUSER as u64)).unwrap();
    assert_eq!((gap.layer, gap.fix), (Layer::UserNamespace, Layer::UserNamespace.fix()));
    let together = libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
    assert_eq!(
        explain(&refused(libc::CLONE_NEWNET as u64)).unwrap().layer,
        Layer::NetworkNamespace
    );
    assert_eq!(
        explain(&refused(together as u64)).unwrap().layer,
        Layer::NetworkNamespace
    );
    // Without namespaces a failed clone says nothing about them.
    assert_eq!(explain(&refused(0)), None);
    assert_eq!(explain(&coder_process::Error::WardenLost), None);
}

#[test]
fn the_probe_leaves_this_process_as_it_was() {
    let namespaces =
        || ["user", "mnt", "pid", "net"].map(|name| std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap());
    let before = namespaces();
    let capabilities = probe().unwrap();
    assert_eq!(namespaces(), before);
    assert_eq!(capabilities.findings.len(), Layer::ALL.len());
    let missing = Gap::new(Layer::Landlock, &io::Error::from_raw_os_error(libc::ENOSYS));
    let less = Capabilities {
        findings: vec![
            Finding::Available(Layer::UserNamespace),
            Finding::Missing(Gap::new(Layer::Loopback, &io::Error::from_raw_os_error(libc::EPERM))),
            Finding::Missing(missing.clone()),
        ],
        landlock_abi: None,
    };
    // Report 1: a missing loopback interface keeps no command from running.
    assert_eq!(less.obstacles().collect::<Vec<_>>(), [&missing]);
}
