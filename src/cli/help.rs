//! What `--help` and `--help-all` print: the same for every command.

use clap::Command;

/// Columns that help takes at most.
pub(super) const WIDTH: usize = 100;

/// The heading of the options that every command has.
pub(super) const GLOBAL: &str = "Global options";

/// All commands, in the order in which one uses them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Try it", &["demo", "advise"]),
    ("From a scheduler to rules, step by step", &["record", "fit", "evaluate", "explain", "report"]),
    ("Make the rules better", &["augment", "patch", "loop", "front"]),
    ("Study a scheduler or its rules", &["identify", "attack", "features", "diff"]),
    ("Put them to work", &["export", "serve", "shadow"]),
    ("Run, check and train schedulers", &["simulate", "check-policy", "train", "profile-model"]),
    ("Look around", &["list", "inspect", "import"]),
];

/// Gives a command and all below it their help: short with `-h` and `--help`, whole with `--help-all`.
pub(super) fn arranged(command: Command) -> Command {
    let template = root_template(&command);
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    // Options of every command; clap hands them down after this.
    let global = command.get_arguments().filter(|arg| arg.is_global_set()).count();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| with_footer(sub, &format!("distill {name}"), global))
    });
    command.disable_help_flag(true).disable_help_subcommand(true).max_term_width(WIDTH).help_template(template)
}

/// The examples that a command begins with, and where the rest is.
fn with_footer(command: Command, path: &str, global: usize) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| with_footer(sub, &format!("{path} {name}"), global))
    });
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
    let short = text(command.get_after_help()).unwrap_or_default();
    let more = text(command.get_after_long_help());
    let examples = if more.is_some() { " and more examples" } else { "" };
    let options = global + command.get_arguments().filter(|arg| !arg.is_positional()).count();
    let footer = format!("`{path} --help-all` shows all {options} options{examples}");
    let long = more.unwrap_or_else(|| short.clone());
    let gap = if short.is_empty() { "" } else { "\n\n" };
    command.after_help(format!("{short}{gap}{footer}")).after_long_help(long)
}

/// The help of the program itself: commands in groups.
fn root_template(command: &Command) -> String {
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        groups += &format!("{heading}:\n");
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            groups += &format!("  {:width$}  {about}\n", sub.get_name());
        }
        groups.push('\n');
    }
    format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{GLOBAL}:\n{{options}}{{after-help}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;
    use clap::Arg;

    /// Options and examples that a command shows at most.
    const OPTIONS: usize = 14;
    const EXAMPLES: usize = 3;

    /// Every command that has help of its own, by what one types after `distill`.
    fn commands() -> Vec<(String, Command)> {
        let mut root = command(&crate::registry::all());
        root.build();
        let mut open: Vec<(String, Command)> = vec![(String::new(), root)];
        let mut found = Vec::new();
        while let Some((path, command)) = open.pop() {
            let below = |sub: &Command| (format!("{path} {}", sub.get_name()).trim().to_owned(), sub.clone());
            open.extend(command.get_subcommands().map(below));
            found.push((path, command));
        }
        found
    }

    fn is_global(arg: &Arg) -> bool {
        arg.get_help_heading() == Some(GLOBAL)
    }

    /// The examples in a help text as lines to type, continued lines put together.
    fn examples(help: &str) -> Vec<String> {
        help.replace("\\\n", " ")
            .lines()
            .filter_map(|line| line.strip_prefix("  distill ").map(str::to_owned))
            .collect()
    }

    /// A line's words, as a shell takes it apart.
    fn shell_words(line: &str) -> Vec<String> {
        let (mut words, mut open, mut quote) = (vec![String::new()], false, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(q), c) if q == c => quote = None,
                (None, '\'' | '"') => (quote, open) = (Some(c), true),
                (None, ' ') if !open && words.last().is_some_and(String::is_empty) => {}
                (None, ' ') => (words, open) = ([words, vec![String::new()]].concat(), false),
                (None, '<') => break,
                (_, c) => words.last_mut().expect("there is one").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_command_has_its_place_among_the_groups() {
        let root = command(&crate::registry::all());
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut there: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        there.sort_unstable();
        assert_eq!(grouped, there);
    }

    #[test]
    fn help_is_short_and_the_whole_is_a_word_away() {
        for (path, mut command) in commands() {
            let own = command.get_arguments().filter(|a| !a.is_hide_short_help_set() && !is_global(a));
            assert!(own.count() <= OPTIONS, "{path}");
            let all = command.get_arguments().filter(|a| !a.is_positional()).count();
            let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
            assert!(examples(&short).len() <= EXAMPLES, "{path}: {short}");
            for line in short.lines().chain(long.lines()) {
                assert!(line.chars().count() <= WIDTH, "{path}: {line}");
            }
            // Options of all commands come last.
            let mut headings = short
                .lines()
                .filter(|line| line.ends_with(':') && !line.starts_with("Example") && !line.starts_with("Training"));
            assert_eq!(headings.next_back().map(|line| line.trim_end_matches(':')), Some(GLOBAL), "{path}: {short}");
            if !path.is_empty() {
                assert!(
                    short.contains(&format!("`distill {path} --help-all` shows all {all} options")),
                    "{path}: {short}"
                );
                let option = |arg: &Arg| arg.get_long().map(|long| format!("--{long}"));
                let missing = command.get_arguments().filter_map(option).find(|option| !long.contains(option));
                assert_eq!(missing, None, "{path}");
            }
        }
    }

    #[test]
    fn examples_can_be_typed() {
        let registry = crate::registry::all();
        for (path, mut found) in commands() {
            let (short, long) = (found.render_help().to_string(), found.render_long_help().to_string());
            let optional = [("train", cfg!(feature = "torch")), ("profile-model", cfg!(feature = "onnx"))];
            let is_built = optional.iter().all(|(name, is_built)| path != *name || *is_built);
            assert!(path.is_empty() || !is_built || !examples(&short).is_empty(), "{path} has an example");
            for line in examples(&short).into_iter().chain(examples(&long)) {
                let words = [vec!["distill".to_owned()], shell_words(&line)].concat();
                let parsed = command(&registry).try_get_matches_from(words);
                assert!(parsed.is_ok(), "{path}: {line}: {}", parsed.err().map(|e| e.to_string()).unwrap_or_default());
            }
        }
    }
}
