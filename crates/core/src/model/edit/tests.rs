use super::*;
use crate::{
    model::{Factor, Guard, LevelModels, NamedModel, Provenance, Shape, Term, Tree},
    testing::feature_set,
};

/// A stump at the job level, a sum with a product and a step at the stage level, one leaf at the level of amounts, a guard.
fn student() -> Student {
    let set = feature_set();
    let column =
        |level: &str, name: &str| set.level(level).unwrap().features.iter().position(|f| f.name == name).unwrap();
    let mut tree = Tree::empty(1);
    tree.push_test(column("job", "age") as u32, 5e3, [1, 2], true);
    tree.push_test(0, 0.0, [crate::model::LEAF; 2], true);
    tree.push_test(0, 0.0, [crate::model::LEAF; 2], true);
    tree.value = vec![0.5, 0.25, 0.75];
    (tree.impurity, tree.n_samples, tree.weight) = (vec![0.0; 3], vec![1; 3], vec![1.0; 3]);
    let factor = |name, shape, threshold| Factor { feature: column("stage", name) as u32, shape, threshold };
    let [depth, offered] = ["depth", "offered"].map(|name| factor(name, Shape::Linear, None));
    let term = |coefficient, factors| Term { factors, ..Term::linear(0, coefficient, 1.0) };
    let step = factor("depth", Shape::Above, Some(1.0));
    let terms = vec![term(2.0, vec![depth]), term(3.0, vec![depth, offered]), term(0.5, vec![offered, step])];
    let additive = Additive { intercept: 0.0, terms };
    let models = [Model::Tree(tree), Model::Additive(additive), Model::Tree(Tree::leaf(0.0, 0.0, 1, 1.0))];
    let level = |(level, model): (&str, Model)| {
        LevelModels::new(level, "m", vec![NamedModel { name: "m".to_owned(), temperature: 1.0, model }])
    };
    let levels = ["job", "stage", "amount"].into_iter().zip(models).map(level).collect();
    let mut student = Student::new(set.clone(), false, levels, Provenance::default());
    student.guards.push(Guard::parse("age > 60s and offered > 1 first", set).unwrap());
    student
}

#[test]
fn every_place_has_a_name_that_leads_back_to_it() {
    let student = student();
    let names: Vec<String> = student.places().iter().map(|p| student.place_name(p)).collect();
    let expected = [
        "job.node[0].threshold",
        "job.node[1].value",
        "job.node[2].value",
        "stage.coefficient[depth]",
        "stage.coefficient[depth*offered]",
        "stage.term[2].coefficient",
        "stage.term[2].threshold[1]",
        "amount.node[0].value",
        "guard[0].value",
        "guard[0].value[1]",
    ];
    assert_eq!(names, expected);
    for place in student.places() {
        assert_eq!(student.place(&student.place_name(&place)).unwrap(), place);
    }
}

#[test]
fn a_number_of_64_bits_takes_what_they_hold_and_one_of_32_what_those_hold() {
    let mut student = student();
    for place in student.places() {
        let name = student.place_name(&place);
        match student.edit(&format!("{name}=1e300"), "to see") {
            Ok(_) => assert_eq!((place.is_single(), student.number(&place)), (false, Some(1e300)), "{name}"),
            Err(e) => assert!(place.is_single() && e.problem.contains("of 32 bits"), "{name}: {e}"),
        }
        assert!(student.edit(&format!("{name}=1e999"), "to see").is_err());
    }
}

#[test]
fn edits_are_recorded_with_what_was_there_and_survive_the_file() -> Result<(), Box<dyn std::error::Error>> {
    let mut student = student();
    assert_eq!(student.edit("job.node[0].threshold = 7s", "operators know")?, 5e3);
    assert_eq!(student.edit("job.node[0].threshold=8s", "operators know better")?, 7e3);
    assert_eq!(student.edit("guard[0].value=2min", "")?, 6e4);
    assert_eq!(student.edit("stage.coefficient[depth*offered]=-1.5", "")?, 3.0);
    assert_eq!(student.edit("job.node[2].coefficient[age_rank]=-0.001", "oldest last")?, 0.0);
    let change = &student.patches[1].changes[0];
    assert_eq!((change.place.as_str(), change.was, change.now), ("job.node[0].threshold", 7e3, 8e3));
    // What a guard compares with is no patch.
    assert_eq!(student.patches.len(), 4);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("student.json");
    student.save(&path)?;
    assert_eq!(Student::load(&path)?, student);
    let mut broken = student.clone();
    broken.set_number(&broken.place("job.node[0].threshold")?, 1.0);
    broken.save(&path)?;
    let message = Student::load(&path).unwrap_err().to_string();
    assert!(message.contains("patch 1 made `job.node[0].threshold` 8000, but another number"), "{message}");
    Ok(())
}

#[test]
fn a_number_is_the_same_under_each_of_its_names() -> Result<(), EditError> {
    let fitted = student();
    let mut student = fitted.clone();
    for (a, b) in [("term[0].coefficient", "coefficient[depth]"), ("term[1].coefficient", "coefficient[depth*offered]")]
    {
        assert_eq!(student.place(&format!("stage.{a}"))?, student.place(&format!("stage.{b}"))?);
    }
    // Earlier versions wrote the numbers of terms.
    student.edit("stage.coefficient[depth]=5", "")?;
    student.patches[0].changes[0].place = "stage.term[0].coefficient".to_owned();
    student.edit("stage.term[0].coefficient=7", "")?;
    assert_eq!(student.patches[1].changes[0].place, "stage.coefficient[depth]");
    assert_eq!(student.check_patches(), Ok(()));
    student.revert_patch(0);
    assert_eq!((student.patches[0].changes[0].was, student.check_patches()), (2.0, Ok(())));
    student.revert_patch(0);
    assert_eq!(student, fitted);
    Ok(())
}

#[test]
fn a_feature_that_the_model_does_not_use_gets_a_coefficient() -> Result<(), EditError> {
    let fitted = student();
    let mut student = fitted.clone();
    assert_eq!(student.edit("stage.coefficient[offered]=-0.25", "")?, 0.0);
    assert_eq!((student.number(&student.place("stage.term[3].coefficient")?), student.size()), (Some(-0.25), 7));
    assert_eq!(student.check_patches(), Ok(()));
    student.revert_patch(0);
    assert_eq!(student, fitted);
    Ok(())
}

#[test]
fn patches_are_taken_back_in_any_order() -> Result<(), EditError> {
    let fitted = student();
    let mut student = fitted.clone();
    student.edit("job.node[0].threshold=7s", "")?;
    student.edit("job.node[0].threshold=8s", "")?;
    student.edit("job.node[2].coefficient[age_rank]=-0.001", "")?;
    student.revert_patch(0);
    assert_eq!(student.number(&student.place("job.node[0].threshold")?), Some(8e3));
    assert_eq!((student.patches[0].changes[0].was, student.check_patches()), (5e3, Ok(())));
    student.revert_patch(1);
    student.revert_patch(0);
    assert_eq!(student.levels[0].models[0].model.slots(), fitted.levels[0].models[0].model.slots());
    assert_eq!(student.number(&student.place("job.node[0].threshold")?), Some(5e3));
    Ok(())
}

#[test]
fn edits_that_are_not_understood_change_nothing() {
    let before = student();
    for (text, expected) in [
        ("job.node[0].threshold", "expected PLACE=VALUE"),
        ("job.node[0].threshold=soon", "`soon` is not a number"),
        ("job.node[0].threshold=3 tasks", "`tasks` is not a unit for a feature in `ms`"),
        ("job.node[0.threshold=3", "lacks a closing bracket"),
        ("job.node[1].threshold=3", "there is no such number; of "),
        ("job.node[1].threshold=3", " places the nearest are job.node[0].threshold, "),
        ("stage.term[9].coefficient=3", "the nearest are stage.term[2].coefficient, "),
        ("stage.coefficient[offred]=3", "the nearest are stage.coefficient[offered], "),
        ("job.node.value=3", "a number in brackets is missing"),
        ("job.leaf[1]=3", "expected LEVEL.node[I].threshold"),
        ("node.node[1].value=3", "there is no level `node`, only job, stage, amount"),
        ("stage.coefficient[colour]=3", "level `stage` has no feature `colour`"),
        ("job.coefficient[age]=3", "there is no such number"),
        ("guard[3].value=3", "the nearest are guard[0].value, guard[0].value[1], "),
    ] {
        let mut student = before.clone();
        let message = student.edit(text, "").unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert_eq!(student, before);
    }
}

#[test]
fn at_most_ten_places_are_named_where_one_is_not_known() {
    let student = student();
    let named = |name: &str| {
        let problem = student.place(name).unwrap_err().problem;
        problem.split_once("nearest are ").map_or(0, |(_, list)| list.split(", ").count())
    };
    assert_eq!((named("stage.coefficient[colour]"), named("nonsense")), (10, 10));
}

#[test]
fn a_term_whose_feature_has_an_odd_name_is_known_by_its_number() {
    let mut student = student();
    let level = student.feature_set.levels.iter_mut().find(|l| l.name == "stage").unwrap();
    level
        .features
        .iter_mut()
        .filter(|f| ["depth", "offered"].contains(&f.name.as_str()))
        .for_each(|f| f.name += ".[=*");
    for place in student.places() {
        let name = student.place_name(&place);
        assert_eq!(student.place(&name).unwrap(), place, "{name}");
        assert!(!name.contains('='), "{name}");
    }
}
