//! The timeline: one entry per thing that happened, each with a link to itself. Of a very long run the beginning and the
//! end are shown, and how much lies between is said.

use super::markup::{Class, Markup};
use super::{Gathered, prose};
use crate::screen;
use crate::timeline::{Asked, Command, Disposition, Entry, Event};
use crate::view::token_words;
use coder_trace::Source;

/// The most entries at the beginning and again at the end.
const ENTRIES: usize = 2000;

pub(super) fn story(markup: &mut Markup, gathered: &Gathered) {
    let entries = &gathered.timeline.entries;
    let left_out = entries.len().saturating_sub(2 * ENTRIES);
    markup.raw("<section id=\"timeline\" tabindex=\"-1\"><h2>Timeline</h2>\n");
    if entries.is_empty() {
        markup.raw("<p>Nothing happened yet.</p>\n");
    }
    markup.raw("<ol class=\"timeline\">\n");
    let mut named = None;
    for (place, listed) in entries.iter().enumerate() {
        if left_out > 0 && (ENTRIES..ENTRIES + left_out).contains(&place) {
            if place == ENTRIES {
                markup.raw("<li class=\"gap\">").text(&screen::count(left_out as u64));
                markup.raw(" more left out here: <code>coder task view</code> pages them all</li>\n");
            }
            continue;
        }
        // A step that tells of more than one thing names the first of them.
        markup.raw("<li ");
        if named.replace(listed.step) != Some(listed.step) {
            markup.raw("id=\"s").number(listed.step).raw("\" ");
        }
        entry(markup, listed);
    }
    markup.raw("</ol>\n</section>\n");
}

fn entry(markup: &mut Markup, entry: &Entry) {
    markup
        .raw("class=\"")
        .raw(class(&entry.event))
        .raw("\" tabindex=\"-1\">");
    markup
        .raw("<a class=\"time\" href=\"#s")
        .number(entry.step)
        .raw("\" title=\"step ")
        .number(entry.step);
    markup.wrap("\"><time datetime=\"", &entry.at.to_string(), "\">");
    markup
        .text(&screen::clock_time(entry.at))
        .raw("</time></a><div class=\"what\">");
    if entry.carried {
        markup.badge(Class::Plain, "earlier turn").raw(" ");
    }
    match &entry.event {
        Event::Said { source, text } => {
            let who = match source {
                Source::User => "Asked",
                Source::Agent => "Agent",
                Source::System => "Host",
            };
            markup.raw("<h3>").raw(who).raw("</h3>");
            prose::prose(markup, text);
        }
        Event::Admitted(admission) => {
            let access = admission
                .get("access")
                .and_then(|access| access.as_str())
                .unwrap_or_default();
            markup.raw("<h3>Admitted</h3>");
            if !access.is_empty() {
                markup.badge(Class::Plain, &format!("access: {access}"));
            }
        }
        Event::Asked(call) => asked(markup, call),
        Event::Command(ran) => command(markup, ran),
        Event::Read(read) => {
            markup.wrap("<details><summary>Read <code>", &read.path, "</code> ");
            match &read.found {
                Some(found) => markup.wrap("<small>", found, "</small>"),
                None => markup.badge(Class::Bad, "no result: not known"),
            };
            markup.raw("</summary>");
            prose::output(markup, "as read", &read.content);
            markup.raw("</details>");
        }
        Event::Other {
            kind,
            arguments,
            result,
        } => {
            markup.wrap("<h3>", &kind.replace('_', " "), "</h3>");
            prose::value(markup, "Arguments", arguments);
            match result {
                Some(result) => prose::value(markup, "Result", result),
                None => drop(markup.badge(Class::Bad, "no result: not known")),
            }
        }
        Event::Switched(switch) => {
            markup.raw("<h3>Route switched</h3><p class=\"route\">");
            markup
                .wrap("<s>", &switch.from, "</s> → <b>")
                .text(&switch.to)
                .raw("</b></p>");
            prose::prose(markup, &switch.refusal);
            if let Some(book) = &switch.book {
                markup.wrap("<p class=\"aside\">capacity book: ", book, "</p>");
            }
        }
        Event::Noted { name, message, content } => {
            let words = if message.is_empty() {
                name.replace('_', " ")
            } else {
                message.clone()
            };
            prose::value(markup, &words, content);
        }
        Event::Ended(disposition) => ended(markup, disposition),
    }
    markup.raw("</div></li>\n");
}

/// What the buttons tell apart; the words on the entry say it too.
fn class(event: &Event) -> &'static str {
    match event {
        Event::Said { .. } => "said",
        Event::Admitted(_) | Event::Noted { .. } => "noted",
        Event::Asked(asked) if asked.failure.is_some() => "model failed",
        Event::Asked(_) => "model",
        Event::Command(command) if command.left_out => "command left-out",
        Event::Command(command) if command.failed() || command.end.is_none() => "command failed",
        Event::Command(_) => "command",
        Event::Read(_) => "read",
        Event::Other { result, .. } => match result {
            Some(_) => "other",
            None => "other failed",
        },
        Event::Switched(_) => "switched",
        Event::Ended(disposition) if disposition.fault.is_some() => "ended failed",
        Event::Ended(_) => "ended",
    }
}

fn asked(markup: &mut Markup, asked: &Asked) {
    markup.raw("<h3>");
    match asked.number {
        Some(number) => markup.raw("Step ").number(number),
        None => markup.raw("Model"),
    };
    markup
        .raw("</h3><p class=\"aside\">")
        .text(asked.model.as_deref().unwrap_or("model not named"));
    markup.wrap(" · ", &token_words(asked.tokens), "");
    if let Some(took) = asked.milliseconds {
        markup.wrap(" · ", &screen::duration(took), "");
    }
    if let Some(cost) = asked.cost {
        markup.wrap(" · cost ", &screen::cost(cost), "");
    }
    markup.raw("</p>");
    if asked.milliseconds.is_none() {
        markup.badge(Class::Bad, "no result: what became of it is not known");
    }
    if let Some(failure) = &asked.failure {
        markup.badge(Class::Bad, "no usable answer");
        prose::prose(markup, failure);
    }
    if asked.requests.len() > 1 || asked.requests.iter().any(is_remarkable) {
        markup.raw("<ul class=\"requests\">");
        for request in &asked.requests {
            let answer = match &request.answer {
                None => "no answer".to_owned(),
                Some(answer) => {
                    let status = answer
                        .status
                        .map_or("no status".to_owned(), |status| status.to_string());
                    let error = answer
                        .error
                        .as_deref()
                        .map_or(String::new(), |error| format!(": {error}"));
                    format!("{status}{error}")
                }
            };
            let size = request
                .bytes
                .map_or(String::new(), |bytes| format!(", {}", screen::size(bytes)));
            let endpoint = request.endpoint.as_deref().unwrap_or_default();
            markup.wrap(
                "<li>",
                &format!("{} {endpoint}{size}: ", request.kind.replace('_', " ")),
                "",
            );
            markup.text(&answer).raw("</li>");
        }
        markup.raw("</ul>");
    }
    if let Some(reasoning) = &asked.reasoning {
        markup.raw("<details><summary>Reasoning</summary>");
        prose::prose(markup, reasoning);
        markup.raw("</details>");
    }
    match &asked.action {
        Some(action) => {
            if !action.rationale.is_empty() {
                markup.raw("<div class=\"rationale\">");
                prose::prose(markup, &action.rationale);
                markup.raw("</div>");
            }
            prose::prose(markup, &action.reply);
            for path in &action.view {
                markup.wrap("<p class=\"aside\">looks at <code>", path, "</code></p>");
            }
            if action.finished {
                markup.badge(Class::Plain, "says it is finished");
            }
        }
        None => prose::prose(markup, &asked.text),
    }
}

fn is_remarkable(request: &crate::timeline::Request) -> bool {
    match &request.answer {
        None => true,
        Some(answer) => answer.error.is_some() || answer.status.is_some_and(|status| !(200..300).contains(&status)),
    }
}

fn command(markup: &mut Markup, command: &Command) {
    markup.raw("<pre class=\"script\" tabindex=\"0\">");
    markup
        .lines(&screen::lines(command.script.as_bytes()))
        .raw("</pre><p class=\"aside\">");
    match (&command.end, command.left_out) {
        (_, true) => markup.badge(Class::Plain, "left out: one before it failed"),
        (None, false) => markup.badge(Class::Bad, "no result: what became of it is not known"),
        (Some(end), false) if command.failed() => markup.badge(Class::Bad, end),
        (Some(end), false) => markup.badge(Class::Good, end),
    };
    if let Some(took) = command.milliseconds {
        markup.wrap(" ", &screen::duration(took), "");
    }
    if let Some(memory) = command.memory {
        markup.wrap(" · memory ", &screen::size(memory), "");
    }
    markup.raw("</p>");
    if command.clear == Some(false) {
        markup.badge(Class::Bad, "its processes were not proved gone");
    }
    if let Some(note) = &command.note {
        prose::prose(markup, note);
    }
    prose::output(markup, "output", &command.stdout);
    prose::output(markup, "errors", &command.stderr);
}

fn ended(markup: &mut Markup, disposition: &Disposition) {
    markup
        .raw("<h3>Ended</h3>")
        .badge(Class::Plain, &disposition.ending.replace('_', " "));
    prose::prose(markup, &disposition.summary);
    if let Some(fault) = &disposition.fault {
        markup.badge(Class::Bad, "the host could not go on");
        prose::prose(markup, fault);
    }
    for (name, content) in &disposition.more {
        prose::value(markup, &name.replace('_', " "), content);
    }
}
