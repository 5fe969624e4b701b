//! Tests of `exhausted`.

use super::*;
use crate::enforced::Group;

#[test]
fn only_what_is_counted_is_told() {
    let all = Exhausted::bits(
        Spent {
            memory: true,
            pids: true,
        },
        true,
    );
    assert_eq!(Exhausted::read(all, &Bounds::default()), Exhausted::default());
    let each = Bounds {
        memory: Bound::PerProcess(1),
        processes: Bound::Together(1),
        ..Bounds::default()
    };
    assert_eq!(Exhausted::read(all, &each), Exhausted::default());
    let counted = Bounds {
        memory: Bound::Together(1),
        processes: Bound::Together(1),
        scratch: Quota::Counted(1),
        group: Some(Group::CgroupV1),
        ..Bounds::default()
    };
    let yes = Some(true);
    let expected = Exhausted {
        out_of_memory: yes,
        out_of_processes: yes,
        out_of_scratch: yes,
    };
    assert_eq!(expected.words().count(), 3);
    assert_eq!(Exhausted::read(all, &counted), expected);
    let nothing = Exhausted::bits(Spent::default(), false);
    assert_eq!(Exhausted::read(nothing, &counted).out_of_memory, Some(false));
}
