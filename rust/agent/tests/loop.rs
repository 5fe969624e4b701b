//! The whole loop against a scripted model and a world in memory: literal prompts, every ending, the order of effects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use coder_agent::*;
use proptest::prelude::*;
use rstest::rstest;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Everything that happened, in order, as one line each.
type Log = Rc<RefCell<Vec<String>>>;

struct Model {
    log: Log,
    replies: VecDeque<Result<String, GenerationFailure>>,
    prompts: Vec<(String, usize)>,
}

impl Generate for Model {
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated {
        assert_eq!((request.system, request.schema), (SYSTEM, action_schema()));
        self.log.borrow_mut().push(format!("generate {}", request.step));
        self.prompts.push((request.prompt.to_owned(), request.previous_bytes));
        Generated {
            reply: self.replies.pop_front().unwrap_or(Err(GenerationFailure::Cancelled)),
            model: Some("m".to_owned()),
            tokens: Tokens {
                input: Some(10),
                cached: None,
                output: Some(2),
                reasoning: None,
            },
            cost: Cost::FREE,
            attempts: 1,
            uncounted_attempts: 0,
        }
    }
}

#[derive(Default)]
struct World {
    log: Log,
    outputs: BTreeMap<&'static str, Ran>,
    files: BTreeMap<&'static str, Viewed>,
    /// Handed over at the n-th question for messages, from 0.
    messages: BTreeMap<usize, Vec<String>>,
    asked: usize,
    /// Stopped once the log holds this line.
    stop_after: Option<&'static str>,
}

impl Env for World {
    fn description(&self) -> &str {
        "A Linux computer without a network.\n"
    }
    fn stopped(&mut self) -> bool {
        self.stop_after
            .is_some_and(|line| self.log.borrow().iter().any(|done| done == line))
    }
    fn messages(&mut self) -> Vec<String> {
        let now = self.asked;
        self.asked += 1;
        self.messages.remove(&now).unwrap_or_default()
    }
    fn run(&mut self, script: &str) -> Ran {
        self.log.borrow_mut().push(format!("run {script}"));
        self.outputs.get(script).cloned().unwrap_or_else(|| exited(0, ""))
    }
    fn view(&mut self, path: &str) -> Viewed {
        self.log.borrow_mut().push(format!("view {path}"));
        self.files.get(path).cloned().unwrap_or(Viewed::Absent)
    }
}

struct Witness {
    log: Log,
    events: Vec<Event>,
    lost: Option<&'static str>,
    seconds: f64,
}

impl Observe for Witness {
    fn event(&mut self, event: &Event) -> Result<(), HostFault> {
        let name = serde_json::to_value(event).unwrap()["type"]
            .as_str()
            .unwrap()
            .to_owned();
        self.log.borrow_mut().push(format!("event {name}"));
        self.events.push(event.clone());
        match self.lost {
            Some(lost) if lost == name => Err(HostFault("no space left".to_owned())),
            _ => Ok(()),
        }
    }
    fn seconds(&self) -> f64 {
        self.seconds
    }
}

struct Bench {
    log: Log,
    model: Model,
    world: World,
    witness: Witness,
    limits: Limits,
}

impl Bench {
    fn new(replies: impl IntoIterator<Item = Result<String, GenerationFailure>>) -> Self {
        let log = Log::default();
        Self {
            model: Model {
                log: log.clone(),
                replies: replies.into_iter().collect(),
                prompts: Vec::new(),
            },
            world: World {
                log: log.clone(),
                ..World::default()
            },
            witness: Witness {
                log: log.clone(),
                events: Vec::new(),
                lost: None,
                seconds: 0.0,
            },
            limits: Limits::default(),
            log,
        }
    }

    fn run_with(&mut self, judge: &mut dyn Judge) -> Outcome {
        let task = Task {
            prompt: "Fix the parser.",
            instructions: "",
        };
        let parts = Parts {
            generate: &mut self.model,
            judge,
            environment: &mut self.world,
            observe: &mut self.witness,
        };
        run(&task, &self.limits, parts).unwrap()
    }

    fn run(&mut self) -> Outcome {
        self.run_with(&mut NoJudge)
    }

    fn ran(&self) -> Vec<String> {
        self.log
            .borrow()
            .iter()
            .filter_map(|line| line.strip_prefix("run ").map(str::to_owned))
            .collect()
    }

    fn new_text(&self, step: usize) -> String {
        let (prompt, previous) = &self.model.prompts[step - 1];
        prompt[*previous..].to_owned()
    }
}

fn exited(status: i32, stdout: &str) -> Ran {
    Ran {
        end: RanEnd::Exited(status),
        stdout: Captured::whole(stdout),
        stderr: Captured::default(),
        seconds: 0.5,
        note: None,
        fault: None,
    }
}

fn action(value: serde_json::Value) -> Result<String, GenerationFailure> {
    let mut whole = serde_json::json!({
        "reply": "", "ask": "none", "rationale": "", "commands": [], "view": [], "freeze_tests": false, "expand": [],
        "finished": false
    });
    for (key, item) in value.as_object().unwrap() {
        whole[key] = item.clone();
    }
    Ok(whole.to_string())
}

fn commands(scripts: &[&str]) -> Result<String, GenerationFailure> {
    action(serde_json::json!({"commands": scripts}))
}

fn finish() -> Result<String, GenerationFailure> {
    action(serde_json::json!({"reply": "Done.", "finished": true}))
}

fn tokens(generations: u64) -> Tokens {
    Tokens {
        input: Some(10 * generations),
        cached: None,
        output: Some(2 * generations),
        reasoning: None,
    }
}

const HEAD: &str = "# Task\n\nFix the parser.\n\n# Environment\n\nA Linux computer without a network.\n\n# How this page \
grows\n\nFor each step there is a part \"State before step N\" (files in view, judgments, messages from the user, notes from the \
host) and, once you have answered, a part \"Step N\" (your rationale, your commands, their output). New parts come at the end; \
nothing above changes. A file that has not changed since it was shown is only named. Answer for the last state on the page.\n\n";
const QUIET: &str = "Judgments: none (no Jev key on this computer).\n";

#[test]
fn three_steps_prompt_by_prompt() {
    let mut bench = Bench::new([
        action(serde_json::json!({"rationale": "Look first.", "commands": ["ls"], "view": ["parser.rs"]})),
        action(serde_json::json!({
            "reply": "I see it.", "rationale": "Fix and test.", "commands": ["sed -i s/a/b/ parser.rs", "cargo test", "git diff"]
        })),
        finish(),
    ]);
    bench.world.outputs.insert("ls", exited(0, "parser.rs\n"));
    let mut failed = exited(101, "1 failed");
    failed.note = Some("denied by the boundary: /root/.cargo".to_owned());
    bench.world.outputs.insert("cargo test", failed);
    bench.world.files.insert(
        "parser.rs",
        Viewed::File {
            bytes: b"let a;\n".to_vec(),
            total_bytes: None,
        },
    );
    bench.world.messages.insert(1, vec!["Keep the API.".to_owned()]);

    let outcome = bench.run();

    let first = format!("{HEAD}# State before step 1\n\nFiles in view: none.\n\n{QUIET}\n");
    let second = format!(
        "{first}# Step 1\n\nRationale: Look first.\n\nCommand 1:\n```bash\nls\n```\nCommand 1: exit 0, \
         output:\n```\nparser.rs\n```\n\n# State before step 2\n\nFiles in view:\n\n`parser.rs`:\n```\nlet \
         a;\n```\n\n{QUIET}\nMessage from the user:\n```\nKeep the API.\n```\n\n"
    );
    let third = format!(
        "{second}# Step 2\n\nRationale: Fix and test.\n\nReply to the user: I see it.\n\nCommand 1:\n```bash\nsed -i s/a/b/ \
         parser.rs\n```\nCommand 1: exit 0, no output.\n\nCommand 2:\n```bash\ncargo test\n```\nCommand 2: exit 101, \
         output:\n```\n1 failed\n```\nThe host: denied by the boundary: /root/.cargo\n\nCommand 3:\n```bash\ngit \
         diff\n```\nCommand 3 was not run.\n\n# State before step 3\n\nFiles in view:\n\n`parser.rs`: unchanged, as shown before \
         step 2.\n\n{QUIET}\n"
    );
    assert_eq!(
        bench.model.prompts,
        [(first.clone(), 0), (second.clone(), first.len()), (third, second.len())]
    );
    assert_eq!(
        outcome,
        Outcome {
            ending: Ending::Finished,
            steps: 3,
            tokens: tokens(3),
            uncounted_attempts: 0,
            cost: Cost::FREE,
            reply: Some("Done.".to_owned()),
            summary: "the model said it is finished".to_owned(),
        }
    );
    assert_eq!(
        *bench.log.borrow(),
        [
            "event judged",
            "generate 1",
            "event generated",
            "run ls",
            "event ran",
            "view parser.rs",
            "event messages",
            "event judged",
            "generate 2",
            "event generated",
            "run sed -i s/a/b/ parser.rs",
            "event ran",
            "run cargo test",
            "event ran",
            "event ran",
            "view parser.rs",
            "event judged",
            "generate 3",
            "event generated",
            "event ended",
        ]
    );
}

#[test]
fn events_are_serialised_as_they_stand() {
    let mut bench = Bench::new([
        action(serde_json::json!({"commands": ["false", "true"], "finished": true})),
        finish(),
    ]);
    bench.world.outputs.insert("false", exited(1, "no"));
    bench.limits.max_steps = Some(1);
    bench.run();
    let tokens = serde_json::json!({"input": 10, "output": 2});
    let free = serde_json::json!({"status": "known", "micro_usd": 0});
    let prompt_chars = bench.model.prompts[0].0.chars().count();
    assert_eq!(
        serde_json::to_value(&bench.witness.events).unwrap(),
        serde_json::json!([
            {"type": "judged", "step": 1, "judgment": {"note": "no Jev key on this computer", "cost": free}},
            {"type": "generated", "step": 1, "prompt_chars": prompt_chars, "generated": {
                "action": {
                    "reply": "", "ask": "none", "rationale": "", "commands": ["false", "true"], "view": [],
                    "freeze_tests": false, "expand": [], "finished": true
                },
                "model": "m", "tokens": tokens, "cost": free, "attempts": 1, "uncounted_attempts": 0
            }},
            {"type": "ran", "step": 1, "command": {
                "number": 1, "script": "false", "end": {"kind": "exited", "value": 1}, "seconds": 0.5, "output": "no"
            }},
            {"type": "ran", "step": 1, "command": {"number": 2, "script": "true", "end": null, "output": ""}},
            {"type": "noted", "step": 1, "note": "You said finished, but a command of that step failed, so the run goes on."},
            {"type": "ended", "outcome": {
                "ending": {"reason": "step_limit"}, "steps": 1, "tokens": tokens, "uncounted_attempts": 0, "cost": free,
                "reply": null, "summary": "the step limit is reached"
            }},
        ])
    );
}

#[rstest]
#[case::finished(Ending::Finished, r#"{"reason":"finished"}"#)]
#[case::asked(Ending::Asked { ask: Ask::Question }, r#"{"reason":"asked","detail":{"ask":"question"}}"#)]
#[case::no_capacity(Ending::NoCapacity { resets_at: Some(7) }, r#"{"reason":"no_capacity","detail":{"resets_at":7}}"#)]
#[case::no_reset(Ending::NoCapacity { resets_at: None }, r#"{"reason":"no_capacity","detail":{"resets_at":null}}"#)]
#[case::bad(Ending::BadReplies("x".to_owned()), r#"{"reason":"bad_replies","detail":"x"}"#)]
#[case::idle(Ending::Idle, r#"{"reason":"idle"}"#)]
#[case::stuck(Ending::Stuck("x".to_owned()), r#"{"reason":"stuck","detail":"x"}"#)]
#[case::steps(Ending::StepLimit, r#"{"reason":"step_limit"}"#)]
#[case::time(Ending::TimeLimit, r#"{"reason":"time_limit"}"#)]
#[case::stopped(Ending::Stopped, r#"{"reason":"stopped"}"#)]
#[case::fault(Ending::HostFault(HostFault("x".to_owned())), r#"{"reason":"host_fault","detail":"x"}"#)]
fn endings_are_written_with_their_reason(#[case] ending: Ending, #[case] written: &str) {
    assert_eq!(serde_json::to_string(&ending).unwrap(), written);
    assert_eq!(serde_json::from_str::<Ending>(written).unwrap(), ending);
    assert_eq!(serde_json::to_value(&ending).unwrap()["reason"], ending.reason());
}

#[test]
fn finishing_with_commands_needs_all_of_them_to_succeed() {
    let both = |script: &str| action(serde_json::json!({"commands": [script], "finished": true, "reply": "Done."}));
    let mut bench = Bench::new([both("bad"), both("good")]);
    bench.world.outputs.insert("bad", exited(1, ""));
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::Finished, 2));
    assert_eq!(
        bench.new_text(2),
        format!(
            "# Step 1\n\nReply to the user: Done.\n\nCommand 1:\n```bash\nbad\n```\nCommand 1: exit 1, no output.\n\n# State \
             before step 2\n\nFiles in view: none.\n\n{QUIET}\nNote from the host: You said finished, but a command of that step \
             failed, so the run goes on.\n\n"
        )
    );
}

#[test]
fn a_message_that_waits_keeps_the_run_going() {
    // Asked for at the start of step 1, before finishing, at the start of step 2, before asking, at the start of step 3.
    let mut bench = Bench::new([
        finish(),
        action(serde_json::json!({"reply": "Which one?", "ask": "question"})),
        finish(),
    ]);
    bench.world.messages.insert(1, vec!["Also the lexer.".to_owned()]);
    bench.world.messages.insert(3, vec!["The first.".to_owned()]);
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::Finished, 3));
    assert!(
        bench
            .new_text(2)
            .ends_with("Message from the user:\n```\nAlso the lexer.\n```\n\n")
    );
    assert!(
        bench
            .new_text(3)
            .ends_with("Message from the user:\n```\nThe first.\n```\n\n")
    );
}

#[test]
fn a_question_ends_the_turn_and_keeps_its_text() {
    let mut bench = Bench::new([action(
        serde_json::json!({"reply": "Which one?", "ask": "question", "rationale": "private"}),
    )]);
    let outcome = bench.run();
    assert_eq!(
        (outcome.ending, outcome.reply, outcome.steps),
        (Ending::Asked { ask: Ask::Question }, Some("Which one?".to_owned()), 1)
    );
}

/// Trap 12: an approval is never waited for. A question without its text, or beside commands, is no question.
#[rstest]
#[case::approval(
    serde_json::json!({"reply": "May I?", "ask": "approval", "commands": ["rm x"]}),
    "No approval is needed: what the environment allows is approved. The run goes on."
)]
#[case::with_commands(
    serde_json::json!({"reply": "Which?", "ask": "question", "commands": ["rm x"]}),
    "A question to the user needs its text in `reply` and no commands beside it; the run goes on."
)]
#[case::without_text(
    serde_json::json!({"ask": "question", "view": ["x"]}),
    "A question to the user needs its text in `reply` and no commands beside it; the run goes on."
)]
fn what_is_no_question_goes_on(#[case] reply: serde_json::Value, #[case] note: &str) {
    let expected: Vec<String> =
        serde_json::from_value(reply.get("commands").cloned().unwrap_or(serde_json::json!([]))).unwrap();
    let mut bench = Bench::new([action(reply), finish()]);
    assert_eq!(bench.run().ending, Ending::Finished);
    assert_eq!(bench.ran(), expected);
    assert!(bench.new_text(2).ends_with(&format!("Note from the host: {note}\n\n")));
}

/// Trap 13: the private note is never shown as the answer.
#[test]
fn a_rationale_is_no_reply() {
    let outcome = Bench::new([action(serde_json::json!({"rationale": "private", "finished": true}))]).run();
    assert_eq!((outcome.reply, outcome.summary.contains("private")), (None, false));
}

/// Traps o and h: a provider's failure is not held against the model's reply, and the ending tells both apart.
#[test]
fn three_unusable_replies_in_a_row_end_the_run_each_with_its_own_words() {
    let mut bench = Bench::new([
        Err(GenerationFailure::Provider("HTTP status 502:\n bad gateway".to_owned())),
        Ok("I would list the files.".to_owned()),
        Ok(String::new()),
    ]);
    let outcome = bench.run();
    let text = "3 steps in a row gave no usable reply: step 1: the model provider failed: HTTP status 502: bad gateway; step 2: \
                the reply could not be used: the reply holds no JSON object; step 3: the reply could not be used: the reply \
                holds no JSON object";
    assert_eq!(
        (outcome.ending, outcome.steps, outcome.summary.as_str()),
        (Ending::BadReplies(text.to_owned()), 3, text)
    );
    assert_eq!(
        bench.new_text(2),
        format!(
            "# Step 1\n\nNo action: the model provider failed.\n\n# State before step 2\n\nFiles in view: none.\n\n{QUIET}\nNote \
             from the host: At step 1 the model provider failed, and no reply of yours arrived: HTTP status 502: bad gateway. \
             That is no fault of yours. Nothing was run; answer for the state as it is.\n\n"
        )
    );
    assert_eq!(
        bench.new_text(3),
        format!(
            "# Step 2\n\nNo action: the reply could not be used.\n\n# State before step 3\n\nFiles in view: \
             none.\n\n{QUIET}\nNote from the host: Your reply at step 2 could not be used: the reply holds no JSON object. \
             Nothing was run. Answer with one JSON object that has the eight keys. The reply began:\n```\nI would list the \
             files.\n```\n\n"
        )
    );
}

#[test]
fn a_usable_reply_starts_the_count_of_bad_ones_again() {
    let bad = || Ok("no".to_owned());
    let mut bench = Bench::new([bad(), bad(), commands(&["ls"]), bad(), bad(), finish()]);
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::Finished, 6));
}

#[test]
fn three_steps_that_do_nothing_end_the_run() {
    let nothing = || action(serde_json::json!({"rationale": "hm"}));
    let look = |path: &str| action(serde_json::json!({"view": [path]}));
    let mut bench = Bench::new([nothing(), look("a"), nothing(), look("a"), nothing()]);
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::Idle, 5));
    assert!(bench.new_text(2).ends_with(
        "Note from the host: Step 1 did nothing: no command, no file that was not in view, no end. Run a command, look at another \
         file, ask, or finish.\n\n"
    ));
}

#[test]
fn going_in_circles_ends_before_the_next_generation() {
    let mut bench = Bench::new((0..20).map(|_| commands(&["make"])));
    bench.world.outputs.insert("make", exited(2, "error"));
    let outcome = bench.run();
    // The first run of the command was new; eight repetitions later the state is judged and nothing more is asked.
    assert_eq!((outcome.steps, bench.model.prompts.len()), (9, 9));
    assert_eq!(
        outcome.ending,
        Ending::Stuck("the last 8 steps repeated an approach that had failed and made no progress".to_owned())
    );
    assert_eq!(
        bench.log.borrow().iter().rev().take(2).collect::<Vec<_>>(),
        ["event ended", "event judged"]
    );
}

#[rstest]
#[case::commands(commands(&["make"]), "Command 1: exit 0")]
#[case::provider(Err(GenerationFailure::Provider("down".to_owned())), "the model provider failed")]
fn a_judge_may_see_circles_where_the_rule_sees_none(
    #[case] reply: Result<String, GenerationFailure>,
    #[case] seen: &str,
) {
    struct Harsh(Vec<JudgeState>);
    impl Judge for Harsh {
        fn judge(&mut self, state: &JudgeState) -> Judgment {
            self.0.push(state.clone());
            Judgment {
                progress: Some(0.1),
                repeating: Some(0.9),
                ..Judgment::unavailable("", Cost::Known(5))
            }
        }
    }
    let mut bench = Bench::new(std::iter::repeat_with(|| reply.clone()).take(9));
    bench.limits.stuck_steps = 4;
    bench.limits.bad_replies = 100;
    let mut judge = Harsh(Vec::new());
    let outcome = bench.run_with(&mut judge);
    assert!(matches!(outcome.ending, Ending::Stuck(_)));
    assert_eq!((outcome.steps, outcome.cost), (4, Cost::Known(25)));
    assert_eq!(judge.0[0].actions, "");
    assert!(judge.0[1].actions.contains(seen));
}

#[test]
fn a_judge_sees_bounded_texts() {
    struct Nosy(Vec<JudgeState>);
    impl Judge for Nosy {
        fn judge(&mut self, state: &JudgeState) -> Judgment {
            self.0.push(state.clone());
            NoJudge.judge(state)
        }
    }
    let mut bench = Bench::new([commands(&["a"]), commands(&["b"]), commands(&["c"]), finish()]);
    for script in ["a", "b", "c"] {
        bench.world.outputs.insert(script, exited(0, &script.repeat(9_000)));
    }
    let mut judge = Nosy(Vec::new());
    bench.run_with(&mut judge);
    let last = judge.0.last().unwrap();
    assert_eq!(
        (
            last.step,
            last.task.as_str(),
            last.environment.as_str(),
            last.acceptance.as_str()
        ),
        (
            4,
            "Fix the parser.",
            "A Linux computer without a network.\n",
            "not used"
        )
    );
    assert!(last.actions.starts_with("# Step 1\n\nCommand 1:\n```bash\na\n```\n"));
    assert!(last.actions.ends_with("c\n```\n\n"));
    assert!((16_000..16_060).contains(&last.actions.chars().count()));
}

#[test]
fn a_capacity_refusal_ends_with_its_reset() {
    let refusal = CapacityRefusal {
        resets_at: Some(1_796_040_000),
        ..CapacityRefusal::without_reset(CapacityKind::UsageLimit, "limit")
    };
    let outcome = Bench::new([commands(&["ls"]), Err(GenerationFailure::Capacity(refusal))]).run();
    assert_eq!(
        (outcome.ending, outcome.steps, outcome.summary.as_str()),
        (
            Ending::NoCapacity {
                resets_at: Some(1_796_040_000)
            },
            2,
            "no admitted route has capacity before Unix time 1796040000"
        )
    );
}

#[rstest]
#[case::before_anything(None, &[], 0)]
#[case::while_judged(Some("event judged"), &[], 0)]
#[case::while_generating(Some("generate 1"), &[], 1)]
#[case::in_a_command(Some("run a"), &["a"], 1)]
#[case::in_the_last_command(Some("run b"), &["a", "b"], 1)]
fn once_stopped_no_effect_follows(#[case] after: Option<&'static str>, #[case] ran: &[&str], #[case] steps: u32) {
    let mut bench = Bench::new([commands(&["a", "b"]), finish()]);
    bench.world.stop_after = after;
    if after.is_none() {
        bench.log.borrow_mut().push("start".to_owned());
        bench.world.stop_after = Some("start");
    }
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::Stopped, steps));
    assert_eq!(bench.ran(), ran);
    assert!(!bench.log.borrow().iter().any(|line| line.starts_with("view")));
}

#[test]
fn a_cancelled_call_is_a_stop_and_a_host_fault_keeps_its_words() {
    assert_eq!(
        Bench::new([Err(GenerationFailure::Cancelled)]).run().ending,
        Ending::Stopped
    );
    let fault = HostFault("the response names another model".to_owned());
    let outcome = Bench::new([Err(GenerationFailure::HostFault(fault.clone()))]).run();
    assert_eq!(
        (outcome.ending, outcome.summary.as_str()),
        (
            Ending::HostFault(fault),
            "the host could not go on: the response names another model"
        )
    );
}

#[test]
fn a_fault_in_a_command_or_a_read_stops_further_effects() {
    let fault = HostFault("cleanup is unknown".to_owned());
    let mut bench = Bench::new([commands(&["a", "b"])]);
    let mut broken = exited(0, "");
    broken.fault = Some(fault.clone());
    bench.world.outputs.insert("a", broken);
    assert_eq!(bench.run().ending, Ending::HostFault(fault.clone()));
    assert_eq!(bench.ran(), ["a"]);

    let mut bench = Bench::new([action(serde_json::json!({"view": ["x", "y"]})), finish()]);
    bench.world.files.insert("x", Viewed::Fault(fault.clone()));
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::HostFault(fault), 1));
    assert!(!bench.log.borrow().contains(&"view y".to_owned()));
}

/// Evidence before effects: an event that is not retained is followed by no effect, whichever it is.
#[rstest]
#[case::judged("judged", 0, &[])]
#[case::messages("messages", 0, &[])]
#[case::generated("generated", 1, &[])]
#[case::ran("ran", 1, &["a"])]
fn a_lost_event_ends_the_run(#[case] lost: &'static str, #[case] steps: u32, #[case] ran: &[&str]) {
    let mut bench = Bench::new([commands(&["a", "b"]), finish()]);
    bench.world.messages.insert(0, vec!["Hello".to_owned()]);
    bench.witness.lost = Some(lost);
    let outcome = bench.run();
    assert_eq!(outcome.ending, Ending::HostFault(HostFault("no space left".to_owned())));
    assert_eq!((outcome.steps, bench.model.prompts.len()), (steps, steps as usize));
    assert_eq!(bench.ran(), ran);
}

#[test]
fn a_lost_ending_still_says_why_the_run_ended() {
    let mut bench = Bench::new([finish()]);
    bench.witness.lost = Some("ended");
    assert_eq!(
        bench.run().ending,
        Ending::HostFault(HostFault(
            "no space left (the run had ended: the model said it is finished)".to_owned()
        ))
    );
}

#[test]
fn limits_end_the_run_between_steps() {
    let mut bench = Bench::new([commands(&["a"]), commands(&["b"]), commands(&["c"])]);
    bench.limits.max_steps = Some(2);
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::StepLimit, 2));

    let mut bench = Bench::new([commands(&["a"])]);
    bench.limits.max_seconds = Some(10.0);
    bench.witness.seconds = 10.0;
    let outcome = bench.run();
    assert_eq!((outcome.ending, outcome.steps), (Ending::TimeLimit, 0));
}

#[test]
fn a_guard_cannot_be_switched_off_by_its_number() {
    let mut bench = Bench::new([]);
    bench.limits.stuck_steps = 3;
    let parts = Parts {
        generate: &mut bench.model,
        judge: &mut NoJudge,
        environment: &mut bench.world,
        observe: &mut bench.witness,
    };
    let task = Task {
        prompt: "x",
        instructions: "",
    };
    let refused = run(&task, &bench.limits, parts).unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        ("limit", "the limit `stuck_steps` is 3; it must be at least 4")
    );
    assert!(bench.log.borrow().is_empty());
}

#[derive(Debug, Clone)]
enum Turn {
    Bad,
    Down,
    Look(u8),
    Run(i32, String),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        Just(Turn::Bad),
        Just(Turn::Down),
        (0_u8..4).prop_map(Turn::Look),
        (0..2, "[a-z`é\n]{0,40}").prop_map(|(status, output)| Turn::Run(status, output)),
    ];
    proptest::collection::vec(turn, 1..24)
}

const FILES: [&str; 4] = ["a", "b", "c", "d"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Trap 15: every prompt begins with the whole prompt before it, unless the log restarted.
    #[test]
    fn prompts_only_grow_at_their_end(turns in turns(), message in ".{0,20}", prompt_bytes in prop_oneof![Just(600_000), Just(10_000)]) {
        let mut bench = Bench::new(turns.iter().map(|turn| match turn {
            Turn::Bad => Ok("no".to_owned()),
            Turn::Down => Err(GenerationFailure::Provider("down".to_owned())),
            Turn::Look(file) => action(serde_json::json!({"view": [FILES[usize::from(*file)]]})),
            Turn::Run(_, output) => commands(&["change", &format!("echo '{output}'")]),
        }));
        bench.limits = Limits { bad_replies: 100, idle_steps: 100, stuck_steps: 100, prompt_bytes, ..Limits::default() };
        bench.world.messages.insert(2, vec![message.clone()]);
        for (name, turn) in FILES.iter().zip(&turns) {
            if let Turn::Run(status, output) = turn {
                bench.world.files.insert(name, Viewed::File { bytes: output.clone().into_bytes(), total_bytes: None });
                bench.world.outputs.insert("change", exited(*status, &output.repeat(100)));
            }
        }
        bench.run();
        let prompts = &bench.model.prompts;
        prop_assert_eq!(prompts.len(), turns.len() + 1);
        let restarts: Vec<(u32, usize)> = bench.witness.events.iter().filter_map(|event| match event {
            Event::PromptRestarted { step, bytes_after, .. } => Some((*step, *bytes_after)),
            _ => None,
        }).collect();
        for (index, pair) in prompts.windows(2).enumerate() {
            let ((before, _), (after, previous)) = (&pair[0], &pair[1]);
            match restarts.iter().find(|restart| restart.0 as usize == index + 2) {
                None => {
                    prop_assert!(after.starts_with(before.as_str()));
                    prop_assert_eq!(*previous, before.len());
                }
                Some((_, bytes_after)) => {
                    prop_assert_eq!((*previous, *bytes_after), (0, after.len()));
                }
            }
            if index >= 2 {
                prop_assert!(after.contains(&message));
            }
        }
        let characters: Vec<usize> = bench.witness.events.iter().filter_map(|event| match event {
            Event::Generated { prompt_chars, .. } => Some(*prompt_chars),
            _ => None,
        }).collect();
        prop_assert_eq!(characters, prompts.iter().map(|(prompt, _)| prompt.chars().count()).collect::<Vec<_>>());
    }
}
