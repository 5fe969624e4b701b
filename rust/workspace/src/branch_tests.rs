use super::*;
use rstest::rstest;

#[test]
fn the_branch_of_a_task() {
    let branch = BranchName::candidate(&TaskId::new("fix-1").unwrap()).unwrap();
    assert_eq!(branch.as_str(), "microcoder/fix-1/candidate");
    assert_eq!(branch.reference(), "refs/heads/microcoder/fix-1/candidate");
    assert_eq!(branch.reference_directory(), "refs/heads/microcoder/fix-1");
}

#[rstest]
#[case("main")]
#[case("microcoder/x")]
#[case("microcoder/x/y/z")]
#[case("microcoder//candidate")]
#[case("microcoder/../candidate")]
#[case("microcoder/a..b/candidate")]
#[case("microcoder/x/-d")]
#[case("microcoder/.x/y")]
#[case("microcoder/x./y")]
#[case("microcoder/x.lock/y")]
#[case("microcoder/x.LOCK/y")]
#[case("microcoder/x y/z")]
#[case("microcoder/x\n/z")]
#[case("microcoder/é/z")]
fn other_names_are_refused(#[case] name: &str) {
    assert_eq!(BranchName::new(name).unwrap_err().code(), "branch_name");
    assert!(serde_json::from_value::<BranchName>(name.into()).is_err());
}
