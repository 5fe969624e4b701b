use super::*;
use crate::usage::Cost;
use Repetition::{OnlyRepeats, SomethingNew};
use rstest::rstest;

fn judged(repeating: Option<f64>, progress: Option<f64>) -> Judgment {
    Judgment {
        repeating,
        progress,
        ..Judgment::unavailable("", Cost::FREE)
    }
}

#[rstest]
#[case::both_halves(Some(0.5), Some(0.49), SomethingNew, true)]
#[case::both_halves_whatever_the_rule(Some(0.5), Some(0.49), OnlyRepeats, true)]
#[case::repeating_but_progress(Some(0.9), Some(0.5), OnlyRepeats, false)]
#[case::new_without_progress(Some(0.49), Some(0.1), OnlyRepeats, false)]
#[case::neither(Some(0.1), Some(0.9), OnlyRepeats, false)]
#[case::repeating_and_rule(Some(0.5), None, OnlyRepeats, true)]
#[case::repeating_without_rule(Some(0.5), None, SomethingNew, false)]
#[case::not_repeating_with_rule(Some(0.4), None, OnlyRepeats, false)]
#[case::stalled_and_rule(None, Some(0.4), OnlyRepeats, true)]
#[case::stalled_without_rule(None, Some(0.4), SomethingNew, false)]
#[case::progress_with_rule(None, Some(0.5), OnlyRepeats, false)]
#[case::rule_alone(None, None, OnlyRepeats, true)]
#[case::nothing(None, None, SomethingNew, false)]
fn truth_table(
    #[case] repeating: Option<f64>,
    #[case] progress: Option<f64>,
    #[case] rule: Repetition,
    #[case] in_circles: bool,
) {
    assert_eq!(goes_in_circles(&judged(repeating, progress), rule), in_circles);
}

#[test]
fn answers_that_are_no_probability_are_no_answers() {
    let wild = judged(Some(f64::NAN), Some(-1.0)).checked();
    assert_eq!(wild, judged(None, None));
    assert!(goes_in_circles(&wild, OnlyRepeats));
}

#[test]
fn the_rule_compares_script_end_and_output() {
    let mut guard = StuckGuard::default();
    let mut step = |commands: &[(&str, RanEnd, &str)]| guard.step(commands.iter().copied());
    let ok = RanEnd::Exited(0);
    assert_eq!(step(&[("ls", ok, "a")]), SomethingNew);
    assert_eq!(step(&[("ls", ok, "a")]), OnlyRepeats);
    assert_eq!(step(&[("ls", ok, "b")]), SomethingNew);
    assert_eq!(step(&[("ls", RanEnd::Exited(1), "a")]), SomethingNew);
    assert_eq!(step(&[("ls", RanEnd::TimedOut, "a")]), SomethingNew);
    assert_eq!(step(&[("ls", ok, "b"), ("ls", RanEnd::TimedOut, "a")]), OnlyRepeats);
    assert_eq!(step(&[("ls", ok, "a"), ("pwd", ok, "/")]), SomethingNew);
    assert_eq!(step(&[]), SomethingNew);
    assert_eq!(step(&[("l", ok, "sa")]), SomethingNew);
}

#[test]
fn twice_in_one_step_is_new_the_first_time() {
    let mut guard = StuckGuard::default();
    let ok = RanEnd::Exited(0);
    assert_eq!(guard.step([("ls", ok, "a"), ("ls", ok, "a")].into_iter()), SomethingNew);
}

#[test]
fn the_count_is_of_steps_in_a_row() {
    let mut guard = StuckGuard::default();
    let none = judged(None, None);
    let counts = [OnlyRepeats, OnlyRepeats, SomethingNew, OnlyRepeats].map(|rule| guard.count(&none, rule));
    assert_eq!(counts, [1, 2, 0, 1]);
}
