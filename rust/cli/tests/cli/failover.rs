//! Limits of providers through the whole program: the same step goes on on the next route, nothing that was done is done
//! again, the next run knows, and a person sees and lifts it.

use crate::world::{MODEL, Prepared, World, reply};
use coder_digest::Digest;
use rstest::rstest;
use serde_json::{Value, json};

/// So far ahead that no test meets it; the hold itself is capped.
const FAR: i64 = 4_000_000_000;
const MONTH: i64 = 31 * 24 * 3600;

/// A grant whose routes are recorded conversations: `recorded`, then `second`, …
fn prepared<'a>(world: &'a World, scripts: &[Value]) -> Prepared<'a> {
    let tree = world.worktree();
    let mut prepared = world.prepare(&tree, &[reply(&[], true)]);
    let names = [MODEL, "second", "third"];
    let routes: Vec<Value> = scripts
        .iter()
        .zip(names)
        .map(|(turns, model)| {
            let script = json!({ "schema": "openagents.microcoder.script.v1", "turns": turns }).to_string();
            world.write(&format!("{model}.json"), &script);
            json!({
                "provider": "scripted", "model": model, "effort": null, "generation_endpoint": "in-process",
                "script": world.text(&format!("{model}.json")), "script_digest": Digest::of(script.as_bytes()),
            })
        })
        .collect();
    let configuration = &mut prepared.grant["adapter_configuration"];
    for (name, value) in routes[0].as_object().unwrap() {
        configuration[name] = value.clone();
    }
    configuration["fallbacks"] = json!(routes[1..]);
    prepared
}

fn limit(resets_at: Option<i64>) -> Value {
    match resets_at {
        Some(at) => {
            json!({ "fail": { "kind": "capacity", "resets_at": at }, "usage": { "input": 3, "cached": 0, "output": 0, "reasoning": 0 } })
        }
        None => json!({ "fail": { "kind": "capacity" } }),
    }
}

/// Every extension of this name in the trace, in order.
fn extensions(world: &World, name: &str) -> Vec<Value> {
    let trace = world.read("tasks/task-1.1.atif.jsonl");
    trace
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|record| record.pointer(&format!("/step/extensions/{name}")).cloned())
        .collect()
}

fn route(model: &str) -> Value {
    json!({ "provider": "scripted", "model": model, "effort": null })
}

/// Takes the two times out that the machine's clock gave, which must fit each other.
fn without_times(mut hold: Value) -> Value {
    let mut take = |name: &str| hold.as_object_mut().unwrap().remove(name).unwrap().as_i64().unwrap();
    let (observed_at, until) = (take("observed_at"), take("until"));
    let length = until - observed_at;
    assert!(length == MONTH || length == 1_800, "{length}");
    hold["length"] = json!(length);
    hold.as_object_mut().unwrap().remove("account").unwrap();
    hold
}

fn stated() -> Value {
    json!({
        "provider": "scripted", "kind": "usage_limit", "resets_at": FAR, "length": MONTH,
        "evidence": { "source": "field", "name": "resets_at" },
    })
}

/// Report 27: users want failover without a tool's effects done twice.
#[test]
fn report_27_the_same_step_goes_on_on_the_next_route_and_no_effect_is_repeated() {
    let world = World::new();
    let first = json!([{ "reply": reply(&["echo once >>notes.txt"], false) }, limit(Some(FAR))]);
    let second = json!([
        { "expect": [{ "step": 2 }, { "prompt_contains": "echo once" }], "reply": reply(&["cat notes.txt"], false) },
        { "expect": [{ "step": 3 }], "reply": reply(&[], true) },
    ]);
    let prepared = prepared(&world, &[first, second]);
    let task = prepared.call().json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&result["ending"], &result["cost_status"], &result["cost_microusd"]),
        (&json!("model_finished"), &json!("priced"), &json!(0))
    );
    assert_eq!(world.read("tree/notes.txt"), "first\nonce\n");
    assert_eq!(
        extensions(&world, "route_capacity"),
        [json!({
            "routes": [{ "route": route(MODEL), "refusal": null }, { "route": route("second"), "refusal": null }],
            "starts_on": route(MODEL),
        })]
    );
    let mut switches = extensions(&world, "route_switch");
    assert_eq!(switches.len(), 1);
    let hold = without_times(switches[0]["refusal"].take());
    assert_eq!(hold, stated());
    assert_eq!(
        switches[0],
        json!({
            "from": route(MODEL), "to": route("second"), "refusal": null, "capacity_book": "recorded",
            "message": "turn 2 of the script refuses for a usage limit",
        })
    );
    // The generation that was refused and the one that served are effects of their own, and the loop heard of one.
    let asked: Vec<(Value, Value)> = extensions(&world, "effect")
        .into_iter()
        .filter(|effect| effect["kind"] == "generation")
        .map(|effect| {
            (
                effect["arguments"]["step"].clone(),
                effect["arguments"]["model"].clone(),
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            (json!(1), json!(MODEL)),
            (json!(2), json!(MODEL)),
            (json!(2), json!("second")),
            (json!(3), json!("second"))
        ]
    );
    let generated: Vec<Value> = extensions(&world, "microcoder")
        .into_iter()
        .filter(|told| told["event"]["type"] == "generated")
        .map(|told| told["event"]["generated"].clone())
        .collect();
    assert_eq!(generated.len(), 3);
    assert_eq!(
        (
            &generated[1]["attempts"],
            &generated[1]["model"],
            &generated[1]["failure"]
        ),
        (&json!(2), &json!("second"), &Value::Null)
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    let page = world.task(&["view", "task-1", "--limit", "200"]).json().to_string();
    assert!(page.contains("route_switch"));
}

#[test]
fn a_held_provider_is_not_asked_by_the_next_run_until_a_person_lifts_it() {
    let world = World::new();
    let prepared = prepared(&world, &[json!([limit(Some(FAR))]), json!([limit(None)])]);
    let task = prepared.call().json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&result["ending"], &result["reason"]),
        (
            &json!("no_capacity"),
            &json!("no_capacity: no admitted route has capacity before Unix time 4000000000")
        )
    );
    let mut exhausted = extensions(&world, "route_exhausted");
    assert_eq!(exhausted.len(), 1);
    let assumed = json!({
        "provider": "scripted", "kind": "usage_limit", "length": 1_800, "evidence": { "source": "assumed" },
    });
    let routes: Vec<Value> = exhausted[0]["routes"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .map(|route| without_times(route["refusal"].take()))
        .collect();
    assert_eq!(routes, [stated(), assumed.clone()]);
    assert_eq!(without_times(exhausted[0]["refusal"].take()), assumed);
    assert_eq!(
        exhausted[0],
        json!({
            "from": route("second"), "refusal": null, "resets_at": FAR, "capacity_book": "recorded",
            "message": "turn 1 of the script refuses for a usage limit",
            "routes": [{ "route": route(MODEL), "refusal": null }, { "route": route("second"), "refusal": null }],
        })
    );

    let capacity = |more: &[&str]| {
        world
            .coder(&["capacity", "--store", &world.text("tasks")])
            .arguments(more)
            .json()
    };
    let held: Vec<Value> = capacity(&[])["held"]
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .map(without_times)
        .collect();
    assert_eq!(held.len(), 2);
    assert!(held.contains(&stated()) && held.contains(&assumed), "{held:?}");

    // The same scripts again: no request is made at all, and the run says why.
    let again = again(&world, &prepared);
    assert_eq!(again["run"]["result"]["ending"], "no_capacity");
    let trace = world.read("tasks/task-2.1.atif.jsonl");
    assert!(!trace.contains("scripted_request"));
    assert!(trace.contains("\"starts_on\":null"));

    let cleared = capacity(&["--clear", "scripted"]);
    assert_eq!(
        (cleared["cleared"].as_array().unwrap().len(), &cleared["held"]),
        (2, &json!([]))
    );
    assert_eq!(capacity(&[])["held"], json!([]));
}

/// Runs the grant's routes once more, for another task on the same tree.
fn again(world: &World, prepared: &Prepared<'_>) -> Value {
    let asked = ("microcoder-repository", Some(MODEL));
    let receipt = world.submit_as("task-2", "command-2", &world.path("tree"), asked);
    let mut grant = prepared.grant.clone();
    grant["task_id"] = json!("task-2");
    grant["intent_digest"] = world.task(&["show", "task-2"]).json()["intent_digest"].clone();
    grant["expected_revision"] = receipt["revision"].clone();
    prepared.call_with(grant.to_string()).json()
}

#[test]
fn a_fallback_without_its_client_is_left_out_and_named() {
    let world = World::new();
    let mut prepared = prepared(&world, &[json!([{ "reply": reply(&[], true) }])]);
    prepared.grant["adapter_configuration"]["fallbacks"] = json!([
        { "provider": "codex", "model": "gpt-6-luna", "effort": "medium", "generation_endpoint": "https://chatgpt.com/backend-api/codex" },
        { "provider": "anthropic", "model": "claude-opus-4-5-20251101", "effort": null, "generation_endpoint": "https://api.anthropic.com", "credential_env": "NO_SUCH_KEY" },
    ]);
    assert_eq!(prepared.call().json()["run"]["result"]["ending"], "model_finished");
    assert_eq!(
        extensions(&world, "routes_unavailable"),
        [json!({ "routes": [
            {
                "route": { "provider": "codex", "model": "gpt-6-luna", "effort": "medium" },
                "unavailable": format!("the client of `codex` cannot be built: there is no Codex login at {}: run `codex login`", world.text("home/.codex/auth.json")),
            },
            {
                "route": { "provider": "anthropic", "model": "claude-opus-4-5-20251101", "effort": null },
                "unavailable": "the provider `anthropic` is not ready: the environment variable `NO_SUCH_KEY` that the grant names is not set",
            },
        ] })]
    );
    // With one route and capacity there is nothing to choose, and nothing is said of it.
    assert_eq!(extensions(&world, "route_capacity"), [] as [Value; 0]);
}

#[rstest]
#[case::damaged("capacity.json", "{", "book_malformed")]
#[case::newer("usage.json", r#"{"schema":"openagents.coder.provider-usage.v9"}"#, "book_version")]
fn trap_d_a_book_that_is_not_understood_refuses_the_run_and_stays(
    #[case] name: &str,
    #[case] text: &str,
    #[case] code: &str,
) {
    let world = World::new();
    let prepared = prepared(&world, &[json!([{ "reply": reply(&[], true) }])]);
    world.write(&format!("tasks/{name}"), text);
    let before = world.listing("tasks");
    let (refused, message) = prepared.call().run().refused(2);
    assert_eq!(refused, code);
    assert!(message.contains(name) && message.contains("left as it is"), "{message}");
    assert_eq!(
        crate::world::differences(&before, &world.listing("tasks")),
        [] as [String; 0]
    );
    let looked = world
        .coder(&["capacity", "--json", "--store", &world.text("tasks")])
        .run();
    assert_eq!(looked.refused(1).0, code);
}

#[rstest]
#[case::no_endpoint(&["--model", "m"], "--endpoint is needed")]
#[case::endpoint_of_a_login(&["--provider", "codex", "--model", "m", "--endpoint", "https://a.example"], "go with --provider openai or anthropic")]
#[case::fallback_without_a_model(&["--provider", "codex", "--model", "m", "--fallback", "claude"], "--fallback claude: codex/MODEL")]
#[case::fallback_that_needs_an_address(&["--provider", "codex", "--model", "m", "--fallback", "openai/m"], "--fallback openai/m: codex/MODEL")]
fn a_provider_named_wrongly_is_said_at_once(#[case] options: &[&str], #[case] words: &str) {
    let world = World::new();
    let seen = world
        .microcoder(&["run", "Add a line.", "--json", "--store", &world.text("tasks")])
        .arguments(options)
        .inside("repo")
        .run();
    let (code, message) = seen.refused(2);
    assert_eq!(code, "usage");
    assert!(message.contains(words), "{message}");
    assert!(!world.path("tasks").exists());
}
