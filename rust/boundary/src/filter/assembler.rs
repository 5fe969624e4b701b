//! Puts a filter of system calls together: a search for the call's number, the blocks that look at arguments, and one
//! shared instruction for each answer. Knows nothing about which calls there are.

use seccompiler::{BackendError, BpfProgram, SeccompAction, TargetArch, sock_filter};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Allow,
    /// `EPERM`, so that programs can go on.
    Refuse,
    /// `ENOSYS`, as if the kernel were older.
    Missing,
    /// The end of the process.
    Kill,
}

impl Answer {
    const ALL: [Self; 4] = [Self::Allow, Self::Refuse, Self::Missing, Self::Kill];

    fn word(self) -> u32 {
        match self {
            Self::Allow => SeccompAction::Allow,
            Self::Refuse => SeccompAction::Errno(libc::EPERM.unsigned_abs()),
            Self::Missing => SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
            Self::Kill => SeccompAction::KillProcess,
        }
        .into()
    }
}

/// A question about the loaded argument. All arguments asked about are 32 bits wide in the kernel, which ignores the
/// upper half; so does the program.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    Equal(u32),
    AnyBit(u32),
}

/// One line of a block.
#[derive(Debug, Clone)]
pub(super) enum Line {
    /// Loads the lower half of an argument, counted from 0.
    Load(u8),
    When(Test, Answer),
    Unless(Test, Answer),
    /// Ends the block.
    Otherwise(Answer),
}

/// Where the search leads for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Answer(Answer),
    /// A block, by its number.
    Block(usize),
}

/// Where a jump goes.
#[derive(Debug, Clone, Copy)]
enum Target {
    Next,
    Goal(Goal),
    /// So many instructions further than the next.
    Over(usize),
}

/// An instruction whose jumps are not yet distances.
#[derive(Debug, Clone, Copy)]
struct Instruction {
    code: u32,
    k: u32,
    when: Target,
    otherwise: Target,
}

/// Where the kernel puts the call's number, architecture and arguments for a filter.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;
const ARGUMENT_SIZE: u32 = 8;

/// Blocks collected so far.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    blocks: Vec<Vec<Instruction>>,
}

impl Assembler {
    /// Adds a block and gives its number.
    pub(super) fn block(&mut self, lines: Vec<Line>) -> usize {
        let mut block = Vec::new();
        let mut lines = lines.into_iter().peekable();
        while let Some(line) = lines.next() {
            // The last test of a block leads to both answers.
            let next = match lines.peek() {
                Some(Line::Otherwise(answer)) => Target::Goal(Goal::Answer(*answer)),
                Some(Line::Load(_) | Line::When(..) | Line::Unless(..)) | None => Target::Next,
            };
            match line {
                Line::Load(argument) => block.push(load(ARGUMENTS_OFFSET + ARGUMENT_SIZE * u32::from(argument))),
                Line::When(test, answer) => block.push(ask(test, Target::Goal(Goal::Answer(answer)), next)),
                Line::Unless(test, answer) => block.push(ask(test, next, Target::Goal(Goal::Answer(answer)))),
                Line::Otherwise(_) => {}
            }
        }
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// The whole program, for calls sorted by their numbers. All other calls are allowed.
    pub(super) fn assemble(self, architecture: TargetArch, goals: &[(u32, Goal)]) -> Result<BpfProgram, BackendError> {
        let kill = Target::Goal(Goal::Answer(Answer::Kill));
        let mut code = vec![
            load(ARCHITECTURE_OFFSET),
            jump(libc::BPF_JEQ, audit_value(architecture), Target::Next, kill),
            load(NUMBER_OFFSET),
        ];
        code.extend(without_x32());
        code.extend(search(goals));
        let mut starts = Vec::with_capacity(self.blocks.len());
        for block in self.blocks {
            starts.push(code.len());
            code.extend(block);
        }
        let answers = code.len();
        let place = |goal: Goal| match goal {
            Goal::Answer(answer) => Answer::ALL
                .iter()
                .position(|one| *one == answer)
                .map(|index| answers + index),
            Goal::Block(number) => starts.get(number).copied(),
        };
        let distance = |from: usize, target: Target| {
            let distance = match target {
                Target::Next => Some(0),
                Target::Over(count) => Some(count),
                Target::Goal(goal) => place(goal).and_then(|place| place.checked_sub(from + 1)),
            };
            distance
                .and_then(|distance| u8::try_from(distance).ok())
                .ok_or(BackendError::FilterTooLarge(answers))
        };
        let mut program = BpfProgram::with_capacity(answers + Answer::ALL.len());
        for (from, instruction) in code.into_iter().enumerate() {
            program.push(sock_filter {
                // All codes fit in a byte.
                code: instruction.code as u16,
                jt: distance(from, instruction.when)?,
                jf: distance(from, instruction.otherwise)?,
                k: instruction.k,
            });
        }
        program.extend(Answer::ALL.map(|answer| sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: answer.word(),
        }));
        Ok(program)
    }
}

/// Searches sorted call numbers for the one that is equal, or allows the call.
fn search(goals: &[(u32, Goal)]) -> Vec<Instruction> {
    const LEAF: usize = 4;
    let (below, from_middle) = goals.split_at(goals.len() / 2);
    let allow = Target::Goal(Goal::Answer(Answer::Allow));
    match from_middle.first() {
        Some((middle, _)) if goals.len() > LEAF => {
            let below = search(below);
            let skip = jump(libc::BPF_JGE, *middle, Target::Over(below.len()), Target::Next);
            std::iter::once(skip).chain(below).chain(search(from_middle)).collect()
        }
        Some(_) | None => {
            let mut left = goals.len();
            let ask = |(call, goal): &(u32, Goal)| {
                left -= 1;
                let otherwise = if left == 0 { allow } else { Target::Next };
                jump(libc::BPF_JEQ, *call, Target::Goal(*goal), otherwise)
            };
            goals.iter().map(ask).collect()
        }
    }
}

fn load(offset: u32) -> Instruction {
    Instruction {
        code: libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        k: offset,
        when: Target::Next,
        otherwise: Target::Next,
    }
}

fn jump(comparison: u32, k: u32, when: Target, otherwise: Target) -> Instruction {
    Instruction {
        code: libc::BPF_JMP | comparison | libc::BPF_K,
        k,
        when,
        otherwise,
    }
}

fn ask(test: Test, when: Target, otherwise: Target) -> Instruction {
    match test {
        Test::Equal(value) => jump(libc::BPF_JEQ, value, when, otherwise),
        Test::AnyBit(bits) => jump(libc::BPF_JSET, bits, when, otherwise),
    }
}

/// The kernel's mark of an architecture (`AUDIT_ARCH_*`).
fn audit_value(architecture: TargetArch) -> u32 {
    match architecture {
        TargetArch::x86_64 => 0xc000_003e,
        TargetArch::aarch64 => 0xc000_00b7,
        TargetArch::riscv64 => 0xc000_00f3,
    }
}

/// Answers `ENOSYS` to the x32 numbers, which reach the same calls under the same architecture mark and so would pass a
/// filter that compares plain numbers.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> Vec<Instruction> {
    const X32_BIT: u32 = 0x4000_0000;
    let missing = Target::Goal(Goal::Answer(Answer::Missing));
    vec![jump(libc::BPF_JGE, X32_BIT, missing, Target::Next)]
}

#[cfg(not(target_arch = "x86_64"))]
fn without_x32() -> Vec<Instruction> {
    Vec::new()
}
