//! Why our own sums stand where a library's call would do: what linfa 0.8.1 does with weights and equal columns.
//!
//! When one of these tests fails, the library has got better, and the code that works round the flaw can go.

use linfa::{Dataset, traits::Fit};
use linfa_linear::LinearRegression;
use ndarray::{Array1, array};

#[test]
fn linfa_linear_ignores_weights() {
    // Four points on no line, of which the last weighs next to nothing.
    let weight = Array1::from(vec![1.0, 1.0, 1.0, 1e-6]);
    let plain = Dataset::new(array![[0.0], [1.0], [2.0], [3.0]], array![0.0, 1.0, 2.0, 30.0]);
    let slope = |data: &Dataset<f64, f64, ndarray::Ix1>| LinearRegression::new().fit(data).unwrap().params()[0];
    let heavy = plain.clone().with_weights(weight);
    assert!(slope(&plain) > 5.0, "the last point counts");
    assert_eq!(slope(&heavy), slope(&plain), "with weights the slope should be 1");
}

#[test]
fn linfa_linear_refuses_equal_columns() {
    let x = array![[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [4.0, 4.0]];
    let refused = LinearRegression::new().fit(&Dataset::new(x, array![0.0, 1.0, 2.0, 4.0]));
    assert!(refused.is_err(), "there is no penalty that would share the coefficient between them");
}
