//! Tests of `powers`: who keeps what.

use super::*;
use rstest::rstest;

const ALL: u64 = (1 << 41) - 1;

#[rstest]
#[case::root(true, ALL, Powers::Kept(0xa004_25fb))]
#[case::root_of_a_container_that_cannot_mount(true, ALL & !(1 << 21), Powers::None)]
#[case::root_that_lacks_some(true, NEEDED | 1, Powers::Kept(1 << 8 | 1))]
#[case::ordinary(false, 0, Powers::None)]
#[case::ordinary_with_capabilities(false, ALL, Powers::None)]
fn what_is_kept(#[case] root: bool, #[case] effective: u64, #[case] expected: Powers) {
    assert_eq!(Powers::of(root, effective), expected);
}

#[rstest]
// Administration, tracing, file handles, devices, raw disks, modules.
#[case(21)]
#[case(19)]
#[case(2)]
#[case(27)]
#[case(17)]
#[case(16)]
fn what_leads_around_a_mount_is_never_kept(#[case] capability: u32) {
    assert_eq!(Powers::of(true, ALL).kept() & (1 << capability), 0);
}

#[test]
fn the_effective_set_is_read_from_the_status() {
    assert_eq!(
        effective("Name:\tx\nCapPrm:\t1\nCapEff:\t00000000a80425fb\n"),
        0xa804_25fb
    );
    assert_eq!(effective("Name:\tx\n"), 0);
}
