use super::*;
use coder_digest::Digest;
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #[test]
    fn a_text_holds_as_much_as_its_json_may_take(pieces in proptest::collection::vec(any::<String>(), 0..6), limit in 0..80_usize) {
        let mut bounded = Bounded::new(limit);
        let results: Vec<bool> = pieces.iter().map(|piece| bounded.push(piece).is_ok()).collect();
        let text = bounded.into_string();
        let whole = pieces.concat();
        let written = |text: &str| serde_json::to_string(text).unwrap().len() - 2;
        prop_assert!(whole.starts_with(&text));
        prop_assert!(written(&text) <= limit);
        prop_assert_eq!(results.iter().all(|fits| *fits), whole == text);
    }
}

#[test]
fn items_that_do_not_fit_are_counted_and_named() {
    let large = Value::from("x".repeat(ITEMS_BYTES));
    let mut deep = json!(1);
    for _ in 0..=ITEM_DEPTH {
        deep = json!([deep]);
    }
    for (unfit, bytes) in [
        (large, ITEMS_BYTES + 2),
        (deep, 2 * ITEM_DEPTH + 3),
        (json!(1_u64 << 60), 19),
    ] {
        let mut items = Items::default();
        assert_eq!(items.push(json!({"a": 1})), Ok(()));
        assert_eq!(items.push(unfit.clone()), Err(Full));
        // In order or not at all.
        assert_eq!(items.push(json!(2)), Err(Full));
        let digest = Digest::of(format!("{unfit}\n2\n").as_bytes());
        let omitted = json!({"type": "omitted", "items": 2, "bytes": bytes + 3, "digest": digest});
        assert_eq!(items.into_values(), [json!({"a": 1}), omitted]);
    }
}
