//! What an attack came to, in tables and words.

use super::{
    output::Output,
    table::{Table, paragraph},
};
use crate::{
    attack::{AttackParams, BestEdit, ENOUGH, Judged, Method, MethodFigures},
    evaluator::{Estimate, Role},
    figure::Figure,
    pipeline::AttackedScheduler,
    simulation::EditBudget,
    spec::brief,
};
use anyhow::Result;

/// The figures of a budget, and the verdict on them.
pub(super) fn print(
    of: &[&MethodFigures],
    budget: &EditBudget,
    (policy, episodes): (&str, u32),
    output: &mut Output,
) -> Result<()> {
    let mut table =
        Table::new(&["", "sooner by 1 %", "by 5 %", "mean change", "if sooner", "others"]).without_if_wide(&["others"]);
    for f in of {
        table.row([
            f.method.to_string(),
            share(&f.sooner),
            share(&f.much_sooner),
            change(&f.change),
            f.change_if_sooner.as_ref().map_or("-".to_owned(), |e| format!("{:+.1} %", 100.0 * e.value)),
            f.others.as_ref().map_or("-".to_owned(), change),
        ]);
    }
    output.text(format!("\nbudget {budget}\n{table}"))?;
    let compared: Vec<(&MethodFigures, &[Estimate; 3])> =
        of.iter().filter_map(|f| Some((*f, f.net.as_ref()?))).collect();
    if !compared.is_empty() {
        let mut table =
            Table::new(&["beyond random edits", "sooner by 1 %", "by 5 %", "mean change", "first minute", "asked"]);
        for (f, [sooner, much, by]) in compared {
            let gained = format!("{:+.2} executors", f.first_minute.value);
            table.row([
                f.method.to_string(),
                change(sooner),
                change(much),
                change(by),
                gained,
                format!("{:.0} times", f.queries),
            ]);
        }
        output.text(format!("\n{table}"))?;
    }
    match verdict(of, policy, episodes) {
        Some(said) => output.text(paragraph("verdict  ", &said)),
        None => Ok(()),
    }
}

/// The schedulers of a run, each by the method that knows most of those tried.
pub(super) fn side_by_side(all: &[&AttackedScheduler], objective: &Figure, output: &mut Output) -> Result<()> {
    let Some(first) = all.first() else { return Ok(()) };
    let AttackParams { episodes, targets, split, budgets, .. } = &first.params;
    output.text(format!(
        "up to {targets} jobs of each of {episodes} episodes ({} seeds), one at a time; how many are served sooner by more than 1 %",
        split.name()
    ))?;
    let budgets: Vec<String> = budgets.iter().map(ToString::to_string).collect();
    let versus = format!("{} to teacher", objective.label);
    let heads: Vec<&str> = ["scheduler", "by"].into_iter().chain(budgets.iter().map(String::as_str)).collect();
    let mut table = Table::new(&[&heads[..], &["beyond random", &versus]].concat());
    for scheduler in all {
        let Some(method) = scheduler.notable.as_ref().map(|notable| notable.method) else { continue };
        let of = |budget: usize| scheduler.figures.iter().find(|f| f.method == method && f.budget == budget);
        let name = match scheduler.role {
            Some(Role::Augmented) => "augmented student".to_owned(),
            _ => brief(&scheduler.policy),
        };
        let mut row = vec![name, method.to_string()];
        row.extend((0..budgets.len()).map(|budget| of(budget).map_or("-".to_owned(), |f| share(&f.sooner))));
        let net = of(0).and_then(|f| f.net.as_ref());
        row.push(net.map_or("-".to_owned(), |[sooner, ..]| points(sooner)));
        row.push(
            scheduler.to_teacher.map_or("-".to_owned(), |e| format!("{:.3} [{:.3}, {:.3}]", e.value, e.low, e.high)),
        );
        table.row(row);
    }
    output.text(format!("\n{table}"))
}

/// What the figures of a budget come to.
fn verdict(of: &[&MethodFigures], policy: &str, episodes: u32) -> Option<String> {
    if episodes < ENOUGH {
        return Some(format!("none: {episodes} episodes tell too little; {ENOUGH} are the least (-n)."));
    }
    let (best, net) = of
        .iter()
        .filter_map(|f| Some((f, f.net.as_ref()?)))
        .min_by(|(_, a), (_, b)| a[2].value.total_cmp(&b[2].value))?;
    let random = of.iter().find(|f| f.method == Method::Random)?;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let sooner = |change: f64| format!("{:.1} %", -100.0 * change);
    let cases = format!("by `{}` a user is served sooner in {} of cases", best.method, percent(best.sooner.value));
    Some(match Judged::of(best, random)? {
        Judged::EvenByChance => {
            let more = match net[2].high < 0.0 {
                true => format!("`{}` gains another {}", best.method, sooner(net[2].value)),
                false => "no other method gains more, as far as these episodes tell".to_owned(),
            };
            format!(
                "{policy} can be gamed even by random edits, where the best of those tried out is kept: a user is served sooner in {} of \
                 cases, and {} sooner in the mean over all; {more}.",
                percent(random.sooner.value),
                sooner(random.change.value)
            )
        }
        Judged::Gains => format!(
            "{policy} can be gamed: {cases}, and {} sooner in the mean over all, which random edits do not explain.",
            sooner(best.change.value)
        ),
        Judged::OnlyOften | Judged::NowAndThen => format!(
            "{policy} can be gamed now and then: {cases}, more often or by more than by random edits, but not for sure in the mean over all."
        ),
        Judged::No => {
            format!("no method did better against {policy} than random edits, as far as these episodes tell.")
        }
    })
}

/// The edit that brought most, in words.
pub(super) fn most_effective(best: &BestEdit, method: Method) -> String {
    let BestEdit { episode, job, words, completion_ms: [before, after] } = best;
    format!(
        "job {job} of episode {episode}: {}; it completes {:.0} % sooner (by `{method}`)",
        words.join(", and "),
        100.0 * (1.0 - after / before)
    )
}

pub(super) fn share(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|v| format!("{:.0}", 100.0 * v));
    if e.is_exact() { format!("{value} %") } else { format!("{value} % [{low}, {high}]") }
}

/// A difference of shares of the smallest budget.
fn points(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|v| format!("{:+.0}", 100.0 * v));
    format!("{value} % [{low}, {high}]")
}

pub(super) fn change(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|v| format!("{:+.1}", 100.0 * v));
    if e.is_exact() { format!("{value} %") } else { format!("{value} % [{low}, {high}]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(method: Method, change: (f64, f64), net: Option<[(f64, f64); 3]>) -> MethodFigures {
        let exact = |value| Estimate { value, low: value, high: value };
        let between = |(low, high): (f64, f64)| Estimate { value: (low + high) / 2.0, low, high };
        MethodFigures {
            method,
            budget: 0,
            targets: 10,
            unfinished: 0,
            sooner: exact(0.6),
            much_sooner: exact(0.5),
            change_if_sooner: None,
            change: between(change),
            net: net.map(|all| all.map(between)),
            others: None,
            first_minute: exact(0.0),
            queries: 0.0,
        }
    }

    #[test]
    fn a_verdict_is_no_stronger_than_its_intervals() {
        let (gain, none, less) = ((0.1, 0.3), (-0.1, 0.1), (-0.2, -0.1));
        let said = |change, net, random| {
            let of = [&figures(Method::Query, change, Some(net)), &figures(Method::Random, random, None)];
            verdict(&of, "decima", 10).unwrap_or_default()
        };
        assert!(
            said(less, [gain, gain, less], none)
                .starts_with("decima can be gamed: by `query` a user is served sooner in 60 %")
        );
        assert!(said(none, [gain, gain, less], none).starts_with("decima can be gamed now and then"));
        assert!(said(none, [gain, none, none], none).starts_with("decima can be gamed now and then"));
        assert!(said(none, [none, none, none], none).starts_with("no method did better"));
        assert!(
            said(less, [none, none, none], less)
                .ends_with("no other method gains more, as far as these episodes tell.")
        );
        assert!(said(less, [gain, none, less], less).ends_with("`query` gains another 15.0 %."));
        assert_eq!(verdict(&[&figures(Method::Random, less, None)], "decima", 10), None);
        let few = verdict(&[&figures(Method::Random, less, None)], "decima", 9).unwrap_or_default();
        assert!(few.starts_with("none: 9 episodes tell too little"));
    }
}
