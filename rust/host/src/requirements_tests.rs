use super::*;
use coder_digest::TaskId;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

/// Requirements of two checks, as an operator writes them.
pub(crate) fn template() -> Value {
    let check = |id: &str| {
        json!({
            "id": id,
            "manifest": "/srv/suites/parser.json",
            "manifest_digest": "1".repeat(64),
            "arguments": [CANDIDATE],
            "seconds": 60,
            "output_bytes": 4096,
            "acceptance": {
                "kind": "suite",
                "suite_digest": format!("sha256:{}", "2".repeat(64)),
                "input_digest": CANDIDATE,
            },
        })
    };
    json!({
        "schema": SCHEMA,
        "version": 1,
        "requirements": [
            { "id": "tokens", "statement": "Every token is kept.", "checks": ["unit", "whole"] },
            { "id": "speed", "statement": "It is no slower.", "checks": ["whole"] },
        ],
        "plan": {
            "schema": PLAN_SCHEMA,
            "input_digest": CANDIDATE,
            "seconds": 120,
            "allow_unrestricted_reads": true,
            "allow_network": true,
            "checks": [check("unit"), check("whole")],
        },
        "instruction_targets": ["src/parser"],
        "source_exclusions": ["answers"],
        "task_sources": ["report-12"],
        "check_lineage": [
            { "check": "unit", "sources": ["manual"] },
            { "check": "whole", "sources": ["manual", "standard"] },
        ],
        "knowledge": [{
            "id": "parsers/tokens", "version": 2, "digest": "3".repeat(64), "path": "docs/tokens.md", "sources": ["manual"],
        }],
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut changed = template();
    *changed.pointer_mut(pointer).unwrap() = value;
    changed
}

fn without(parent: &str, name: &str) -> Value {
    let mut changed = template();
    changed
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(name);
    changed
}

/// Where the refusal points.
fn refused(value: &Value) -> String {
    match Requirements::parse(value) {
        Err(Error::GrantField { field, .. }) => field.strip_prefix("requirements.").unwrap().to_owned(),
        Err(error) => format!("{}: {}", error.code(), error.message()),
        Ok(_) => "accepted".to_owned(),
    }
}

#[test]
fn the_template_is_read_whole() {
    let read = Requirements::parse(&template()).unwrap();
    assert_eq!(read.edition, Edition::Current);
    assert_eq!(read.digest(), json::digest(&template()));
    assert_eq!(read.plan.seconds, 120);
    let unit = PlannedCheck {
        id: Identifier::new("unit").unwrap(),
        manifest: "/srv/suites/parser.json".into(),
        manifest_digest: "1".repeat(64).parse().unwrap(),
        seconds: 60,
        output_bytes: 4096,
        suite_digest: "2".repeat(64).parse().unwrap(),
    };
    assert_eq!(read.plan.checks.first(), Some(&unit));
    read.admissible().unwrap();
}

#[rstest]
#[case::version("/version", json!(0), "version")]
#[case::no_requirement("/requirements", json!([]), "requirements")]
#[case::requirement_twice("/requirements/1/id", json!("tokens"), "requirements[1].id")]
#[case::statement_blank("/requirements/0/statement", json!(" "), "requirements[0].statement")]
#[case::statement_of_two_lines("/requirements/0/statement", json!("a\nb"), "requirements[0].statement")]
#[case::statement_long("/requirements/0/statement", json!("a".repeat(8193)), "requirements[0].statement")]
#[case::no_check_named("/requirements/0/checks", json!([]), "requirements[0].checks")]
#[case::check_unknown("/requirements/0/checks", json!(["other"]), "requirements[0].checks")]
#[case::check_of_no_requirement("/requirements/0/checks", json!(["whole"]), "plan.checks")]
#[case::plan_schema("/plan/schema", json!("other"), "plan.schema")]
#[case::plan_input("/plan/input_digest", json!("4".repeat(64)), "plan.input_digest")]
#[case::plan_no_time("/plan/seconds", json!(0), "plan.seconds")]
#[case::plan_too_long("/plan/seconds", json!(3601), "plan.seconds")]
#[case::plan_reads("/plan/allow_unrestricted_reads", json!(false), "plan.allow_unrestricted_reads")]
#[case::plan_network("/plan/allow_network", json!(false), "plan.allow_network")]
#[case::check_twice("/plan/checks/1/id", json!("unit"), "plan.checks[1].id")]
#[case::manifest_relative("/plan/checks/0/manifest", json!("suites/a.json"), "plan.checks[0].manifest")]
#[case::manifest_dotted("/plan/checks/0/manifest", json!("/srv/../a.json"), "plan.checks[0].manifest")]
#[case::no_argument("/plan/checks/0/arguments", json!([]), "plan.checks[0].arguments")]
#[case::own_argument("/plan/checks/0/arguments", json!(["-c", "true"]), "plan.checks[0].arguments")]
#[case::check_no_time("/plan/checks/0/seconds", json!(0), "plan.checks[0].seconds")]
#[case::check_longer_than_plan("/plan/checks/0/seconds", json!(121), "plan.checks[0].seconds")]
#[case::no_output("/plan/checks/0/output_bytes", json!(0), "plan.checks[0].output_bytes")]
#[case::much_output("/plan/checks/0/output_bytes", json!(1_048_577), "plan.checks[0].output_bytes")]
#[case::exit_status_alone("/plan/checks/0/acceptance", json!({"kind": "exit-success"}), "plan.checks[0].acceptance.kind")]
#[case::suite_unprefixed("/plan/checks/0/acceptance/suite_digest", json!("2".repeat(64)), "plan.checks[0].acceptance.suite_digest")]
#[case::suite_no_digest("/plan/checks/0/acceptance/suite_digest", json!("sha256:2"), "plan.checks[0].acceptance.suite_digest")]
#[case::suite_input("/plan/checks/0/acceptance/input_digest", json!("4".repeat(64)), "plan.checks[0].acceptance.input_digest")]
#[case::target_upwards("/instruction_targets", json!(["src/../../etc"]), "instruction_targets[0]")]
#[case::target_absolute("/instruction_targets", json!(["a", "/etc"]), "instruction_targets[1]")]
#[case::targets_many("/instruction_targets", json!(vec!["a"; 65]), "instruction_targets")]
#[case::exclusion_twice("/source_exclusions", json!(["a", "a"]), "source_exclusions")]
#[case::exclusions_many("/source_exclusions", json!((0..257).map(|n| n.to_string()).collect::<Vec<_>>()), "source_exclusions")]
#[case::no_task_source("/task_sources", json!([]), "task_sources")]
#[case::lineage_missing("/check_lineage", json!([{"check": "unit", "sources": ["manual"]}]), "check_lineage")]
#[case::lineage_twice("/check_lineage/1/check", json!("unit"), "check_lineage[1].check")]
#[case::lineage_unknown("/check_lineage/1/check", json!("other"), "check_lineage[1].check")]
#[case::lineage_without_source("/check_lineage/0/sources", json!([]), "check_lineage[0].sources")]
#[case::lineage_excluded("/check_lineage/0/sources", json!(["answers"]), "check_lineage[0].sources")]
#[case::lineage_of_the_task("/check_lineage/0/sources", json!(["report-12"]), "check_lineage[0].sources")]
#[case::lineage_of_another_run("/check_lineage/0/sources", json!(["report-99"]), "check_lineage[0].sources")]
#[case::source_long("/check_lineage/0/sources", json!(["a".repeat(1025)]), "check_lineage[0].sources")]
#[case::knowledge_id("/knowledge/0/id", json!("a//b"), "knowledge[0].id")]
#[case::knowledge_version("/knowledge/0/version", json!(0), "knowledge[0].version")]
#[case::knowledge_path("/knowledge/0/path", json!("../a.md"), "knowledge[0].path")]
#[case::knowledge_excluded("/knowledge/0/sources", json!(["answers-7"]), "knowledge[0].sources")]
fn a_field_outside_its_bounds_is_named(#[case] pointer: &str, #[case] value: Value, #[case] place: &str) {
    assert_eq!(refused(&with(pointer, value)), place);
}

#[test]
fn there_are_at_most_64_of_each_and_16_documents() {
    let mut many = template();
    let check = many["plan"]["checks"][0].clone();
    many["plan"]["checks"] = (0..65)
        .map(|number| {
            let mut check = check.clone();
            check["id"] = json!(format!("c{number}"));
            check
        })
        .collect();
    assert_eq!(refused(&many), "plan.checks");
    let mut many = template();
    let requirement = many["requirements"][0].clone();
    many["requirements"] = (0..65)
        .map(|number| {
            let mut requirement = requirement.clone();
            requirement["id"] = json!(format!("r{number}"));
            requirement
        })
        .collect();
    assert_eq!(refused(&many), "requirements");
    assert_eq!(
        refused(&with("/requirements/0/checks", json!(vec!["unit"; 65]))),
        "requirements[0].checks"
    );
    let document = template()["knowledge"][0].clone();
    assert_eq!(refused(&with("/knowledge", json!(vec![document; 17]))), "knowledge");
}

#[rstest]
#[case::unknown_field(with("/plan/checks/0/acceptance", json!({"kind": "suite", "suite_digest": "a", "input_digest": "b", "retry": 1})))]
#[case::check_name(with("/plan/checks/0/id", json!("../x")))]
#[case::plan_missing(without("", "plan"))]
#[case::seconds_missing(without("/plan", "seconds"))]
#[case::not_an_object(json!([]))]
fn another_shape_is_refused_as_such(#[case] value: Value) {
    let Err(Error::GrantShape { source }) = Requirements::parse(&value) else {
        panic!("it was read");
    };
    assert!(source.to_string().contains("`requirements`: "), "{source}");
    assert!(!source.to_string().contains("line"), "{source}");
}

#[test]
fn another_schema_is_refused_as_such() {
    assert!(refused(&with("/schema", json!("other"))).starts_with("unsupported_schema: "));
}

/// Facts 10: the first edition is still read, claims no sources, and starts nothing.
#[test]
fn the_legacy_edition_is_read_and_starts_nothing() {
    let mut legacy = without("", "task_sources");
    legacy["schema"] = json!("openagents.coder.task-requirements.v1");
    assert_eq!(refused(&legacy), "check_lineage");
    for name in ["check_lineage", "knowledge"] {
        legacy.as_object_mut().unwrap().remove(name);
    }
    let read = Requirements::parse(&legacy).unwrap();
    assert_eq!(read.edition, Edition::Legacy);
    assert!(matches!(read.admissible(), Err(Error::GrantField { field, .. }) if field == "requirements.schema"));
}

#[rstest]
#[case::plain("manual", "manual")]
#[case::numbered("manual-77", "manual")]
#[case::only_a_number("-77", "-77")]
#[case::no_number("manual-7a", "manual-7a")]
#[case::empty_number("manual-", "manual-")]
fn a_run_is_of_its_source(#[case] source: &str, #[case] expected: &str) {
    assert_eq!(without_run_number(source), expected);
}

#[test]
fn a_check_from_the_task_itself_is_found() {
    let read = Requirements::parse(&template()).unwrap();
    let found = |task: &str| read.derived_from(&TaskId::new(task).unwrap()).map(str::to_owned);
    assert_eq!(found("fix-parser"), None);
    assert_eq!(found("standard"), Some("standard".into()));
    assert_eq!(found("manual-4"), Some("manual".into()));
}

proptest! {
    /// Any one value put anywhere is read or refused, and never a panic; what is read keeps its digest.
    #[test]
    fn a_changed_document_is_read_or_refused(
        path in prop::sample::select(vec!["", "/version", "/plan", "/plan/checks", "/plan/checks/0", "/plan/checks/0/manifest",
            "/requirements", "/requirements/0/checks", "/check_lineage/0/sources", "/knowledge/0", "/instruction_targets"]),
        value in prop_oneof![
            Just(Value::Null), Just(json!([])), Just(json!({})), any::<u64>().prop_map(|number| json!(number % (1 << 53))),
            ".*".prop_map(Value::String), prop::collection::vec(".*", 0..4).prop_map(|list| json!(list)),
        ],
    ) {
        let changed = with(path, value);
        if let Ok(read) = Requirements::parse(&changed) {
            prop_assert_eq!(read.digest(), json::digest(&changed));
        }
    }
}
