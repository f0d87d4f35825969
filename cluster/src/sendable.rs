//! Plans in a form that arrives as it was sent.
//!
//! `datafusion-proto` writes the relation of a column as a text without quotes, and parses it at
//! the other end: `rows."Loop 1"` arrives as another relation, and the plan is refused. So such
//! relations get plain names. The other end gives columns the relations that they lack, and then
//! expressions that are named after them have other names, so these names are written out. An empty
//! relation arrives without its columns, so it is sent as nulls of which a filter leaves no row.
//! The names of the answer's columns stay.

use std::collections::BTreeMap;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Alias, GroupingSet};
use datafusion::logical_expr::{
    EmptyRelation, Expr, LogicalPlan, LogicalPlanBuilder, Subquery, SubqueryAlias, TableScan,
    TableScanBuilder, lit,
};
use datafusion::scalar::ScalarValue;

/// The plan that is sent for `plan`.
pub(crate) fn sendable(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(with_columns)?.data;
    let mut names = Names::default();
    names.collect(&plan)?;
    let plan = plan.transform_up_with_subqueries(|node| names.renamed(node).map(Transformed::yes));
    Ok(plan?.data)
}

/// An empty relation with the columns of its schema.
fn with_columns(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema }) = &node else {
        return Ok(Transformed::no(node));
    };
    let null = |(relation, field): (Option<&TableReference>, &FieldRef)| {
        let value = lit(ScalarValue::try_new_null(field.data_type())?);
        Ok(value.alias_qualified(relation.cloned(), field.name()))
    };
    let nulls = schema.iter().map(null).collect::<Result<Vec<_>>>()?;
    if nulls.is_empty() {
        return Ok(Transformed::no(node));
    }
    let none = LogicalPlanBuilder::empty(true).filter(lit(false))?.project(nulls)?.build()?;
    Ok(Transformed::yes(none))
}

/// Plain names, by the names that would not arrive.
#[derive(Default)]
struct Names {
    plain: BTreeMap<TableReference, TableReference>,
}

/// Whether a relation is the same after it was a text.
fn arrives(relation: &TableReference) -> bool {
    TableReference::parse_str_normalized(&relation.to_string(), true) == *relation
}

impl Names {
    fn collect(&mut self, plan: &LogicalPlan) -> Result<()> {
        plan.apply_with_subqueries(|node| {
            for relation in node.schema().iter().filter_map(|(relation, _)| relation) {
                if !arrives(relation) && !self.plain.contains_key(relation) {
                    let name = format!("stationdb_relation_{}", self.plain.len());
                    self.plain.insert(relation.clone(), TableReference::bare(name));
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    /// A node over children that have plain names.
    fn renamed(&self, node: LogicalPlan) -> Result<LogicalPlan> {
        // Names of expressions are those of columns here, and parents refer to them.
        let names_columns = matches!(
            node,
            LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)
        );
        let node = node.map_expressions(|expr| {
            let expr = match expr {
                expr if !names_columns => self.parts(expr)?,
                Expr::GroupingSet(set) => Expr::GroupingSet(self.set(set)?),
                expr => self.column_of(expr)?,
            };
            Ok(Transformed::yes(expr))
        });
        match node?.data {
            LogicalPlan::TableScan(scan) => {
                let table_name = self.of(&scan.table_name);
                let TableScan { source, projection, filters, fetch, .. } = scan;
                let scan = TableScanBuilder::new(table_name, source)
                    .with_projection(projection)
                    .with_filters(filters)
                    .with_fetch(fetch);
                Ok(LogicalPlan::TableScan(scan.build()?))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let name = self.of(&alias.alias);
                Ok(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(alias.input, name)?))
            }
            other => other.recompute_schema(),
        }
    }

    /// An expression whose column keeps its name.
    fn column_of(&self, expr: Expr) -> Result<Expr> {
        if matches!(expr, Expr::Column(_) | Expr::Alias(_)) {
            return self.parts(expr);
        }
        let name = expr.schema_name().to_string();
        let is_bare = expr.column_refs().iter().any(|column| column.relation.is_none());
        let expr = self.parts(expr)?;
        let is_same = !is_bare && expr.schema_name().to_string() == name;
        Ok(if is_same { expr } else { expr.alias(name) })
    }

    fn set(&self, set: GroupingSet) -> Result<GroupingSet> {
        let columns_of = |exprs: Vec<Expr>| -> Result<Vec<Expr>> {
            exprs.into_iter().map(|expr| self.column_of(expr)).collect()
        };
        Ok(match set {
            GroupingSet::Rollup(exprs) => GroupingSet::Rollup(columns_of(exprs)?),
            GroupingSet::Cube(exprs) => GroupingSet::Cube(columns_of(exprs)?),
            GroupingSet::GroupingSets(sets) => {
                GroupingSet::GroupingSets(sets.into_iter().map(columns_of).collect::<Result<_>>()?)
            }
        })
    }

    fn parts(&self, expr: Expr) -> Result<Expr> {
        Ok(expr.transform_up(|part| Ok(Transformed::yes(self.part(part))))?.data)
    }

    fn of(&self, relation: &TableReference) -> TableReference {
        self.plain.get(relation).unwrap_or(relation).clone()
    }

    fn column(&self, column: Column) -> Column {
        Column { relation: column.relation.map(|relation| self.of(&relation)), ..column }
    }

    /// An expression over parts that have plain names.
    fn part(&self, expr: Expr) -> Expr {
        let outer = |subquery: Subquery| Subquery {
            outer_ref_columns: subquery
                .outer_ref_columns
                .into_iter()
                .map(|column| self.part(column))
                .collect(),
            ..subquery
        };
        match expr {
            Expr::Column(column) => Expr::Column(self.column(column)),
            Expr::OuterReferenceColumn(field, column) => {
                Expr::OuterReferenceColumn(field, self.column(column))
            }
            Expr::Alias(alias) => Expr::Alias(Alias {
                relation: alias.relation.as_ref().map(|relation| self.of(relation)),
                ..alias
            }),
            Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(outer(subquery)),
            Expr::Exists(mut exists) => {
                exists.subquery = outer(exists.subquery);
                Expr::Exists(exists)
            }
            Expr::InSubquery(mut is_in) => {
                is_in.subquery = outer(is_in.subquery);
                Expr::InSubquery(is_in)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use super::*;

    /// Each has an order or one row.
    const STATEMENTS: [&str; 11] = [
        "select count(*), sum(n) from rows.\"Loop 1\" where false",
        "select x.n, y.n from rows.\"s/x\" y left join (select n from rows.\"Loop 1\" where 1 = 2) x \
         on x.n = y.n order by y.n",
        "select * from rows.\"Loop 1\" order by n",
        "select min(n), max(\"N\"), count(*) from rows.\"Loop 1\"",
        "select n % 2, sum(\"N\") + 1 from rows.\"Loop 1\" group by n % 2 order by 1",
        "select n, lag(n) over (order by n) from rows.\"Loop 1\" order by n",
        "select a.n, \"Loop 1\".\"N\" from rows.\"Loop 1\" a join rows.\"Loop 1\" on a.n = \"Loop 1\".n \
         order by 1",
        "select n from rows.\"Loop 1\" as \"A.b\" where exists (select 1 from rows.\"s/x\" y \
         where y.n = \"A.b\".n) order by n",
        "select (select max(n) from rows.\"s/x\") as most, n from rows.\"Loop 1\" order by n limit 1",
        "select n % 2, n % 3, count(*) from rows.\"Loop 1\" group by rollup(n % 2, n % 3) \
         order by 1, 2",
        "select distinct n % 2 from rows.\"Loop 1\" union all select n from rows.\"s/x\" order by 1",
    ];

    async fn context() -> SessionContext {
        let context = SessionContext::new();
        for statement in [
            "create schema rows",
            "create table rows.\"Loop 1\" as select value as n, value * 10 as \"N\" \
             from generate_series(1, 7)",
            "create table rows.\"s/x\" as select value * 2 as n from generate_series(1, 3)",
        ] {
            context.sql(statement).await.unwrap().collect().await.unwrap();
        }
        context
    }

    #[tokio::test]
    async fn plain_names_change_no_answer() {
        let context = context().await;
        for statement in STATEMENTS {
            let frame = context.sql(statement).await.unwrap();
            let (state, plan) = frame.clone().into_parts();
            let expected = frame.collect().await.unwrap();
            let expected = pretty_format_batches(&expected).unwrap().to_string();
            for plan in [plan.clone(), state.optimize(&plan).unwrap()] {
                let sent = sendable(plan).unwrap();
                sent.apply_with_subqueries(|node| {
                    for (relation, field) in node.schema().iter() {
                        assert!(relation.is_none_or(arrives), "{statement}: {relation:?} {field}");
                    }
                    let is_empty = matches!(node, LogicalPlan::EmptyRelation(_));
                    assert!(!is_empty || node.schema().fields().is_empty(), "{statement}");
                    Ok(TreeNodeRecursion::Continue)
                })
                .unwrap();
                let sent = state.create_physical_plan(&sent).await.unwrap();
                let answer = datafusion::physical_plan::collect(sent, state.task_ctx());
                let answer = pretty_format_batches(&answer.await.unwrap()).unwrap().to_string();
                assert_eq!(expected, answer, "{statement}");
            }
        }
    }

    #[tokio::test]
    async fn names_that_arrive_stay() {
        let context = context().await;
        let frame = context.sql("select * from (values (1)) as plain(n)").await.unwrap();
        let plan = frame.into_unoptimized_plan();
        assert_eq!(sendable(plan.clone()).unwrap(), plan);
    }
}
