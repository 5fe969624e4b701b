use super::*;
use crate::{Cancel, Command, Event, Flow, Tree};
use rstest::rstest;

fn own() -> Holder {
    Holder::of(Pid(std::process::id().cast_signed())).unwrap()
}

#[test]
fn a_living_process_is_alive() {
    assert_eq!(own().standing(Duration::ZERO), Standing::Alive);
}

/// Each part of the name is needed: a number alone passes to a stranger, and a start time repeats after a restart.
#[rstest]
#[case::another_start(Holder { start_ticks: own().start_ticks + 1, ..own() }, Standing::Gone(Gone::Ended))]
#[case::another_boot(Holder { boot: "00000000-0000-0000-0000-000000000000".to_owned(), ..own() }, Standing::Gone(Gone::Restarted))]
#[case::no_such_process(Holder { process: i32::MAX, ..own() }, Standing::Gone(Gone::Ended))]
#[case::another_namespace(
    Holder { namespace: own().namespace + 1, ..own() },
    Standing::Unknown("it was numbered in another pid namespace than this".to_owned())
)]
fn every_part_of_the_name_counts(#[case] holder: Holder, #[case] standing: Standing) {
    assert_eq!(holder.standing(Duration::ZERO), standing);
}

#[test]
fn a_warden_is_named_before_its_command_starts_and_gone_after() {
    let mut told = Vec::new();
    let mut holder = None;
    let outcome = Command::new("/bin/true")
        .run(&Cancel::never(), &mut |event| {
            match event {
                Event::Holding { warden, contains } => {
                    told.push("holding");
                    assert!(!contains, "without a namespace its end proves nothing");
                    let children = fs::read_to_string(format!("/proc/{warden}/task/{warden}/children")).unwrap();
                    assert_eq!(children, "", "nothing of the command exists yet");
                    holder = Some(Holder::of(warden).unwrap());
                }
                Event::Started { .. } => told.push("started"),
                Event::Output { .. } => {}
            }
            Flow::Continue
        })
        .unwrap();
    assert!(outcome.success() && matches!(outcome.tree, Tree::Clear(_)));
    assert_eq!(told, ["holding", "started"]);
    assert_eq!(holder.unwrap().standing(Duration::ZERO), Standing::Gone(Gone::Ended));
}

#[test]
fn a_withheld_command_never_starts() {
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("mark");
    let mut told = 0;
    let refused = Command::new("/bin/touch")
        .argument(&mark)
        .run(&Cancel::never(), &mut |_| {
            told += 1;
            Flow::Stop
        });
    assert_eq!(refused.unwrap_err().code(), "withheld");
    assert_eq!((told, mark.exists()), (1, false));
}
