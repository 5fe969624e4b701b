//! What the loop itself costs: 200 steps with a generator, a world and an observer that do next to nothing.
#![allow(clippy::unwrap_used, missing_docs)]

use coder_agent::{
    Captured, Cost, Env, Event, Generate, Generated, GenerationRequest, HostFault, Limits, NoJudge, Observe, Parts,
    Ran, RanEnd, Task, Tokens, Viewed, run,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const STEPS: u32 = 200;

struct Model {
    replies: Vec<String>,
}

impl Generate for Model {
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated {
        black_box(request.prompt);
        Generated {
            reply: Ok(self.replies[request.step as usize - 1].clone()),
            model: None,
            tokens: Tokens::UNKNOWN,
            cost: Cost::FREE,
            attempts: 1,
            uncounted_attempts: 0,
        }
    }
}

struct World {
    output: Vec<u8>,
}

impl Env for World {
    fn description(&self) -> &str {
        "nothing"
    }
    fn stopped(&mut self) -> bool {
        false
    }
    fn messages(&mut self) -> Vec<String> {
        Vec::new()
    }
    fn run(&mut self, _script: &str) -> Ran {
        Ran {
            end: RanEnd::Exited(0),
            stdout: Captured::whole(self.output.as_slice()),
            stderr: Captured::default(),
            seconds: 0.0,
            note: None,
            fault: None,
        }
    }
    fn view(&mut self, _path: &str) -> Viewed {
        Viewed::Absent
    }
}

struct Nobody;

impl Observe for Nobody {
    fn event(&mut self, event: &Event) -> Result<(), HostFault> {
        black_box(event);
        Ok(())
    }
    fn seconds(&self) -> f64 {
        0.0
    }
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("loop");
    group.throughput(Throughput::Elements(STEPS.into()));
    for (name, output) in [("no output", 0), ("1 kB of output", 1_000), ("20 kB of output", 20_000)] {
        let mut model = Model {
            replies: (1..=STEPS)
                .map(|step| {
                    let finished = step == STEPS;
                    format!(r#"{{"rationale":"step {step}","commands":["true {step}"],"finished":{finished}}}"#)
                })
                .collect(),
        };
        let mut world = World {
            output: vec![b'x'; output],
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let parts = Parts {
                    generate: &mut model,
                    judge: &mut NoJudge,
                    environment: &mut world,
                    observe: &mut Nobody,
                };
                let task = Task {
                    prompt: "count",
                    instructions: "",
                };
                let outcome = run(&task, &Limits::default(), parts).unwrap();
                assert_eq!(outcome.steps, STEPS);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
