//! Tests of `enforced`.

use super::*;

fn all() -> LayerSet {
    Layer::ALL.into_iter().collect()
}

fn enforced(layers: LayerSet) -> Enforced {
    let certain = Certain {
        access: Access::Boundary,
        network: Network::None,
        abi: 6,
        profile: Profile::default(),
        bounds: Bounds {
            memory: Bound::PerProcess(1 << 30),
            ..Bounds::default()
        },
    };
    Enforced::from_layers(&certain, layers)
}

#[test]
fn each_missing_layer_is_a_shortfall_by_its_name() {
    let demand = enforced(all());
    assert_eq!(demand.satisfies(&demand), Ok(()));
    for layer in Layer::ALL {
        let fewer: LayerSet = all().iter().filter(|other| *other != layer).collect();
        let held = enforced(fewer).satisfies(&demand);
        match layer {
            // Optional, and covered by the network namespace.
            Layer::Loopback | Layer::LandlockScope => assert_eq!(held, Ok(())),
            layer => assert_eq!(held, Err(Shortfall { layer })),
        }
    }
}

/// Report 3: a Landlock that enforces nothing must not pass for one that does.
#[test]
fn report_3_an_older_landlock_does_not_satisfy_a_newer_demand() {
    let older = Enforced {
        landlock: Some(1),
        ..enforced(all())
    };
    assert_eq!(
        older.satisfies(&enforced(all())),
        Err(Shortfall { layer: Layer::Landlock })
    );
    assert_eq!(
        older.satisfies(&Enforced::least(Access::Boundary, &Network::None)),
        Ok(())
    );
    let none = Enforced {
        landlock: None,
        ..enforced(all())
    };
    assert_eq!(
        none.satisfies(&Enforced::least(Access::Boundary, &Network::None)),
        Err(Shortfall { layer: Layer::Landlock })
    );
}

#[test]
fn the_line_for_people_says_what_holds() {
    assert_eq!(
        enforced(all()).to_string(),
        "files: granted only (Landlock 6), network: none but its own loopback, processes: its own, capabilities: none, \
         system calls: filtered"
    );
    assert_eq!(
        Enforced::least(Access::Full, &Network::Host).to_string(),
        "files: all of this user's (no Landlock), network: the host's, processes: the host's, capabilities: this \
         user's, system calls: all"
    );
}
