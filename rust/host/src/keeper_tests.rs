use super::*;
use crate::testing::{World, clock};
use crate::verify::{Effects, read_effects};
use coder_digest::TaskId;
use coder_models::PromptForm;
use coder_trace::{Reader, Session, SessionId, Writer};
use proptest::prelude::*;
use rstest::rstest;

/// A request as the loop makes it: a prompt, and how much of it the one before had sent.
#[derive(Debug, Clone)]
struct Asked {
    prompt: String,
    previous_bytes: usize,
    body: String,
    cuts: Vec<usize>,
}

/// What the Messages API has between two pieces of a prompt.
const BETWEEN: &str = r#""},{"type":"text","text":""#;

fn body(prompt: &str, effort: &str) -> String {
    json!({ "effort": effort, "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": prompt }] }).to_string()
}

/// Records the requests and reads them back.
fn recorded(asked: &[Asked]) -> Effects {
    let world = World::new();
    let session = Session {
        id: SessionId::new(&TaskId::new("task-1").unwrap(), 1),
        model: None,
        door: "test".to_owned(),
        repository: None,
        version: "0".to_owned(),
    };
    let path = world.path("trace");
    let writer = Writer::create(&path, &session, clock()).unwrap();
    let mut keeper = Keeper::new(Recorder::new(writer, crate::patience::of(std::time::Duration::ZERO)));
    for (number, asked) in (1..).zip(asked) {
        let request = AttemptRequest {
            kind: AttemptKind::ScriptedRequest,
            step: number,
            number: 1,
            endpoint: "in-process",
            model: "model",
            effort: None,
            body_digest: Digest::of(asked.body.as_bytes()),
            body: &asked.body,
            prompt: &asked.prompt,
            previous_bytes: asked.previous_bytes,
            form: PromptForm {
                cuts: &asked.cuts,
                between: BETWEEN,
            },
        };
        keeper.request(&request).unwrap();
        let response = AttemptResponse {
            kind: AttemptKind::ScriptedRequest,
            step: number,
            number: 1,
            status: None,
            served_model: Some("model".to_owned()),
            response_id: None,
            text: "reply".to_owned(),
            items: Vec::new(),
            tokens: coder_agent::Tokens::UNKNOWN,
            cost: Cost::FREE,
            list_prices: None,
            windows: Vec::new(),
            body_bytes: 0,
            error: None,
        };
        keeper.response(&response).unwrap();
    }
    drop(keeper);
    read_effects(&Reader::open(&path).unwrap()).unwrap()
}

fn growing(parts: &[&str]) -> Vec<Asked> {
    let mut prompt = String::new();
    let mut asked = Vec::new();
    for part in parts {
        let previous_bytes = prompt.len();
        prompt.push_str(part);
        asked.push(Asked {
            body: body(&prompt, "low"),
            prompt: prompt.clone(),
            previous_bytes,
            cuts: Vec::new(),
        });
    }
    asked
}

/// The same in bodies that hold the prompt in growing pieces.
fn growing_in_pieces(parts: &[&str]) -> Vec<Asked> {
    let mut cuts = Vec::new();
    let mut asked = growing(parts);
    for asked in &mut asked {
        cuts.extend((asked.previous_bytes > 0).then_some(asked.previous_bytes));
        let ends = cuts.iter().copied().chain([asked.prompt.len()]);
        let begins = std::iter::once(0).chain(cuts.iter().copied());
        // By hand, since the order of the names counts.
        let pieces = begins.zip(ends).map(|(begin, end)| {
            let piece = json!(&asked.prompt[begin..end]);
            format!(r#"{{"type":"text","text":{piece}}}"#)
        });
        let pieces: Vec<String> = pieces.collect();
        asked.body = format!(r#"{{"messages":[{{"role":"user","content":[{}]}}]}}"#, pieces.join(","));
        asked.cuts.clone_from(&cuts);
    }
    asked
}

/// Trap 15: a body that marks what a provider keeps in its cache is put together from what is new, too.
#[test]
fn trap_15_a_prompt_in_pieces_is_kept_by_what_is_new() {
    let asked = growing_in_pieces(&["The task.\n", "Step 1: \"quoted\" é\n", "Step 2.\n"]);
    assert!(
        asked[2].body.contains(&format!("The task.\\n{BETWEEN}Step 1")),
        "{}",
        asked[2].body
    );
    let mut effects = recorded(&asked);
    let kept: Vec<Value> = effects.arguments().map(|arguments| arguments["body"].clone()).collect();
    assert_eq!(kept[2]["prompt"]["new"], "Step 2.\n");
    assert_eq!(kept[2]["prompt"]["cuts"], json!([10, 30]));
    assert_eq!(kept[2]["around_prompt_of"], json!(2));
    assert_eq!(effects.requests_rebuild(), Ok(()));
    for cuts in [json!([10]), json!([10, 400]), json!([28]), json!("all")] {
        *effects.last_arguments().pointer_mut("/body/prompt/cuts").unwrap() = cuts;
        assert!(effects.requests_rebuild().is_err());
    }
}

#[test]
fn a_growing_prompt_is_kept_by_what_is_new() {
    let effects = recorded(&growing(&["The task.\n", "Step 1: \"quoted\" é\n", "Step 2.\n"]));
    let kept: Vec<Value> = effects.arguments().map(|arguments| arguments["body"].clone()).collect();
    assert_eq!(kept[0]["prompt"]["new"], "The task.\n");
    assert_eq!(kept[0]["prompt"]["continues"], Value::Null);
    for (index, new) in [(1, "Step 1: \"quoted\" é\n"), (2, "Step 2.\n")] {
        assert_eq!(kept[index]["around_prompt_of"], json!(index));
        assert_eq!(
            (&kept[index]["prompt"]["continues"], &kept[index]["prompt"]["new"]),
            (&json!(index), &json!(new))
        );
    }
    assert_eq!(effects.paired(true), Ok(()));
    assert_eq!(effects.requests_rebuild(), Ok(()));
}

#[rstest]
#[case::begun_anew(|asked: &mut Vec<Asked>| { asked[1].prompt = "Other.".to_owned(); asked[1].previous_bytes = 0; asked[1].body = body("Other.", "low"); asked.truncate(2); })]
#[case::another_frame(|asked: &mut Vec<Asked>| asked[1].body = body(&asked[1].prompt, "high"))]
#[case::another_frame_and_back(|asked: &mut Vec<Asked>| { asked[0].body = body(&asked[0].prompt, "high"); asked[2].body = body(&asked[2].prompt, "high"); })]
#[case::no_prompt_in_it(|asked: &mut Vec<Asked>| asked[1].body = "{}".to_owned())]
#[case::the_prompt_twice(|asked: &mut Vec<Asked>| asked[1].body = json!([asked[1].prompt, asked[1].prompt]).to_string())]
#[case::asked_again(|asked: &mut Vec<Asked>| { let again = asked[1].clone(); asked.insert(1, again); })]
#[case::inside_a_character(|asked: &mut Vec<Asked>| asked[2].previous_bytes = "The task.\nStep 1: \"quoted\" é\n".len() - 2)]
fn the_exact_bytes_come_out_again(#[case] change: fn(&mut Vec<Asked>)) {
    let mut asked = growing(&["The task.\n", "Step 1: \"quoted\" é\n", "Step 2.\n"]);
    change(&mut asked);
    let effects = recorded(&asked);
    assert_eq!(effects.requests_rebuild(), Ok(()));
    let digests: Vec<&Value> = effects.arguments().map(|arguments| &arguments["body_digest"]).collect();
    let expected: Vec<Value> = asked
        .iter()
        .map(|asked| json!(Digest::of(asked.body.as_bytes())))
        .collect();
    assert_eq!(digests, expected.iter().collect::<Vec<_>>());
}

#[rstest]
#[case::new_text("/body/prompt/new", json!("Step 2!\n"))]
#[case::continues("/body/prompt/continues", json!(9))]
#[case::bytes("/body/prompt/continues_bytes", json!(1))]
#[case::frame("/body/around_prompt_of", json!(7))]
#[case::digest("/body_digest", json!(Digest::of(b"other")))]
#[case::no_body("/body", json!({}))]
fn an_altered_piece_does_not_rebuild(#[case] pointer: &str, #[case] value: Value) {
    let mut effects = recorded(&growing(&["The task.\n", "Step 1.\n", "Step 2.\n"]));
    *effects.last_arguments().pointer_mut(pointer).unwrap() = value;
    assert!(effects.requests_rebuild().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_prompts_in_any_bodies_come_out_again(parts in prop::collection::vec((".{0,40}", 0_usize..60, any::<bool>()), 1..6)) {
        let mut prompt = String::new();
        let mut asked = Vec::new();
        for (part, previous_bytes, whole) in parts {
            // Only what the last prompt really had may be said to be continued.
            let previous_bytes = previous_bytes.min(prompt.len());
            prompt.push_str(&part);
            let body = if whole { json!({ "x": part }).to_string() } else { body(&prompt, "low") };
            asked.push(Asked { prompt: prompt.clone(), previous_bytes, body, cuts: Vec::new() });
        }
        prop_assert_eq!(recorded(&asked).requests_rebuild(), Ok(()));
    }
}
