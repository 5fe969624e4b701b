use super::*;
use crate::policy::Workspace;
use rstest::rstest;

const SCRATCH: &str = "/private/tmp/scratch";

fn policy(mode: Mode) -> Policy {
    Policy {
        workspace: Some(Workspace {
            path: "/Users/me/my \"project\"".into(),
            mode,
        }),
        sealed: vec!["/Users/me/.openagents/tasks".into()],
        ..Policy::default()
    }
}

fn linked() -> Policy {
    let common = PathBuf::from("/Users/me/source/.git");
    Policy {
        git: Some(GitView::Linked {
            admin: common.join("worktrees/w"),
            common,
            quarantine: None,
        }),
        ..policy(Mode::Write)
    }
}

fn checkout() -> Policy {
    Policy {
        git: Some(GitView::Checkout {
            git_dir: "/Users/me/my \"project\"/.git".into(),
        }),
        guarded: vec!["/Users/me/my \"project\"/vendor/x/.git".into()],
        network: "allow:a.test:443".parse().unwrap(),
        ..policy(Mode::Write)
    }
}

fn toolchains() -> Policy {
    Policy {
        access: Access::Toolchains,
        reads: vec![
            "/opt/homebrew".into(),
            "/Users/me/.rustup".into(),
            "/Users/me/.openagents".into(),
        ],
        network: Network::Host,
        ..linked()
    }
}

fn full() -> Policy {
    Policy {
        access: Access::Full,
        ..policy(Mode::Write)
    }
}

/// The whole text of each, as it would be given to `sandbox-exec`.
#[rstest]
#[case::read_only(policy(Mode::Read), include_str!("seatbelt/read_only.sb"))]
#[case::linked(linked(), include_str!("seatbelt/linked.sb"))]
#[case::checkout_with_listed_hosts(checkout(), include_str!("seatbelt/checkout.sb"))]
#[case::toolchains(toolchains(), include_str!("seatbelt/toolchains.sb"))]
#[case::full(full(), "(version 1)\n(allow default)\n")]
fn the_profile_of_a_policy(#[case] policy: Policy, #[case] expected: &str) {
    assert_eq!(seatbelt_profile(&policy, Path::new(SCRATCH)).unwrap(), expected);
}

#[rstest]
#[case::relative("project", "path_not_absolute")]
#[case::root("/", "path_reserved")]
#[case::control("/Users/me/a\nb", "path_unwritable")]
#[case::inside_sealed("/Users/me/.openagents/tasks/x", "grant_meets_sealed")]
#[case::around_sealed("/Users/me", "grant_meets_sealed")]
fn what_cannot_be_written_is_refused(#[case] path: &str, #[case] code: &str) {
    let policy = Policy {
        writes: vec![path.into()],
        ..policy(Mode::Read)
    };
    let error = seatbelt_profile(&policy, Path::new(SCRATCH)).unwrap_err();
    assert_eq!(error.code(), code);
}

#[test]
fn parentheses_are_balanced_and_no_allow_comes_before_a_deny() {
    for policy in [policy(Mode::Read), linked(), checkout(), toolchains()] {
        let text = seatbelt_profile(&policy, Path::new(SCRATCH)).unwrap();
        let count = |sign: char| text.chars().filter(|character| *character == sign).count();
        assert_eq!(count('('), count(')'));
        let rules: Vec<bool> = text.lines().skip(1).map(|line| line.starts_with("(deny")).collect();
        assert!(rules.is_sorted_by(|earlier, later| earlier >= later), "{text}");
    }
}
