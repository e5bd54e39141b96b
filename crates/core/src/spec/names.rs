//! What are policies and workloads called where they stand side by side?

use super::{Spec, in_quotes, split_file};

/// A policy or workload id without the folders of its file: `net:a/b/model.pt,mode=sample` is
/// `net:model.pt,mode=sample`.
///
/// ```
/// use sched_distill_core::spec::brief;
/// assert_eq!(brief("net:a/b/model.pt,mode=sample"), "net:model.pt,mode=sample");
/// assert_eq!(brief("fair"), "fair");
/// ```
#[must_use]
pub fn brief(id: &str) -> String {
    let Some((name, rest)) = id.split_once(':') else { return id.to_owned() };
    let (file, params) = split_file(rest);
    let file = file.rsplit(['/', '\\']).next().unwrap_or(&file);
    format!("{name}:{}{params}", in_quotes(file))
}

/// Names for policies that differ and take `most` characters where they can: the id itself or [`brief`], else the name that
/// it begins with, and what tells it from others that begin alike.
///
/// ```
/// use sched_distill_core::spec::short_names;
/// let ids = ["fair", "net:a/model.pt", "net:b/model.pt", "tpch:all.json.gz,executors=10,jobs=50"];
/// assert_eq!(short_names(&ids, 20), ["fair", "net#1", "net#2", "tpch"]);
/// assert_eq!(short_names(&ids[1..2], 20), ["net:model.pt"]);
/// let ids = ["net:a/model.pt", "net:a/model.pt,mode=sample"];
/// assert_eq!(short_names(&ids, 20), ["net:model.pt", "net,mode=sample"]);
/// ```
#[must_use]
pub fn short_names(ids: &[&str], most: usize) -> Vec<String> {
    let briefs: Vec<String> = ids.iter().map(|id| brief(id)).collect();
    let clear = |i: usize| {
        briefs[i].chars().count() <= most
            && briefs.iter().enumerate().all(|(j, b)| i == j || ids[i] == ids[j] || *b != briefs[i])
    };
    let name = |i: usize| {
        if clear(i) {
            return briefs[i].clone();
        }
        let alike: Vec<&str> = ids.iter().copied().filter(|id| head(id) == head(ids[i])).collect();
        let differs = differences(ids[i], &alike).filter(|pairs| !pairs.is_empty());
        let told = differs.map(|pairs| format!("{},{}", head(ids[i]), pairs.join(",")));
        if let Some(told) = told.filter(|told| told.chars().count() <= most) {
            return told;
        }
        let taken = alike.len() > 1 || briefs.iter().enumerate().any(|(j, b)| clear(j) && *b == head(ids[i]));
        match (taken, alike.iter().position(|id| *id == ids[i])) {
            (true, Some(place)) => format!("{}#{}", head(ids[i]), place + 1),
            _ => head(ids[i]).to_owned(),
        }
    };
    (0..ids.len()).map(name).collect()
}

/// Names for workloads that stand side by side, on the command line, in the report and in its charts: what tells one from
/// the others, and the name that it begins with where there is nothing of the kind. One alone has its [`brief`] id.
///
/// ```
/// use sched_distill_core::spec::workload_names;
/// let ids = ["tpch:a/all.json,jobs=50", "tpch:a/all.json,edge=wide,jobs=50", "tpch:a/all.json,executors=25,jobs=50"];
/// assert_eq!(workload_names(&ids), ["tpch", "edge=wide", "executors=25"]);
/// assert_eq!(workload_names(&["builtin,edge=wide", ids[0]]), ["builtin", "tpch"]);
/// assert_eq!(workload_names(&ids[..1]), ["tpch:all.json,jobs=50"]);
/// ```
#[must_use]
pub fn workload_names(ids: &[&str]) -> Vec<String> {
    if ids.iter().all(|id| *id == ids[0]) {
        return ids.iter().map(|id| brief(id)).collect();
    }
    let one_base = ids.iter().all(|id| head(id) == head(ids[0]));
    let name = |id: &&str| {
        let alike: Vec<&str> = ids.iter().copied().filter(|other| head(other) == head(id)).collect();
        let pairs = differences(id, &alike)?;
        Some(match (&pairs[..], one_base) {
            ([], _) => head(id).to_owned(),
            (pairs, true) => pairs.join(","),
            (pairs, false) => format!("{},{}", head(id), pairs.join(",")),
        })
    };
    let names: Vec<Option<String>> = ids.iter().map(name).collect();
    let brief_if_none = |(id, name): (&&str, &Option<String>)| name.clone().unwrap_or_else(|| brief(id));
    ids.iter().zip(&names).map(brief_if_none).collect()
}

/// The name that an id begins with.
fn head(id: &str) -> &str {
    id.split([':', ',']).next().unwrap_or(id)
}

/// The pairs of an id that not all the others have; `None` if they differ in more than pairs, or are no specs.
fn differences(id: &str, others: &[&str]) -> Option<Vec<String>> {
    let spec: Spec = id.parse().ok()?;
    let others: Vec<Spec> = others.iter().map(|other| other.parse().ok()).collect::<Option<_>>()?;
    if others.iter().any(|other| (&other.name, &other.file) != (&spec.name, &spec.file)) {
        return None;
    }
    let differs = |pair: &(&String, &String)| others.iter().any(|other| other.params.get(pair.0) != Some(pair.1));
    Some(spec.params.iter().filter(differs).map(|(key, value)| format!("{key}={value}")).collect())
}
