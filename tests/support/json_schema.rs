//! As much of JSON Schema as the schemas in `docs` use.

use serde_json::Value;

/// What is wrong with a value, with its place; `None` if it fits.
pub(crate) fn misfit(root: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    let wrong = |what: String| Some(format!("{place}: {what}"));
    if let Some(name) = schema["$ref"].as_str() {
        return misfit(root, root.pointer(name.strip_prefix('#')?).expect("a definition"), value, place);
    }
    if let Some(all) = schema["anyOf"].as_array() {
        let misfits: Vec<String> = all.iter().map_while(|one| misfit(root, one, value, place)).collect();
        return (misfits.len() == all.len()).then(|| misfits.join(" | "));
    }
    if schema.get("const").is_some_and(|constant| constant != value) {
        return wrong(format!("{value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return wrong(format!("{value} is none of {}", schema["enum"]));
    }
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => value.is_number(),
    };
    let fits = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    if !fits {
        return wrong(format!("{value} is no {}", schema["type"]));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        return wrong(format!("{number} is less than {least}"));
    }
    if let Some(items) = value.as_array() {
        let [least, most] = ["minItems", "maxItems"].map(|key| schema[key].as_u64());
        if least.is_some_and(|n| (items.len() as u64) < n) || most.is_some_and(|n| items.len() as u64 > n) {
            return wrong(format!("{} items", items.len()));
        }
        if schema.get("contains").is_some_and(|of| items.iter().all(|item| misfit(root, of, item, place).is_some())) {
            return wrong(format!("no item is {}", schema["contains"]));
        }
        let of = schema.get("items")?;
        return items.iter().enumerate().find_map(|(i, item)| misfit(root, of, item, &format!("{place}[{i}]")));
    }
    let fields = value.as_object()?;
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(name) = missing.into_iter().find(|name| !fields.contains_key(*name)) {
        return wrong(format!("`{name}` is missing"));
    }
    fields.iter().find_map(|(name, field)| {
        let place = format!("{place}.{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(of), _) | (None, of @ Value::Object(_)) => misfit(root, of, field, &place),
            (None, Value::Bool(false)) => Some(format!("{place}: unknown")),
            (None, _) => None,
        }
    })
}
