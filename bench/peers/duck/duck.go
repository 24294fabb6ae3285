// Package duck runs the operations in DuckDB, in this process.
package duck

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/broadhead-go/broadhead/bench/peers/race"
	"github.com/broadhead-go/broadhead/bench/peers/work"
)

// Engine is DuckDB with one connection to a database in memory.
type Engine struct {
	db      *sql.DB
	conn    *sql.Conn
	version string
}

// Open starts DuckDB with a number of threads.
func Open(threads int) (*Engine, error) {
	connector, err := duckdb.NewConnector("", func(execer driver.ExecerContext) error {
		_, err := execer.ExecContext(context.Background(), fmt.Sprintf("SET threads=%d", threads), nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	e := &Engine{db: sql.OpenDB(connector)}
	ctx := context.Background()
	if e.conn, err = e.db.Conn(ctx); err != nil {
		return nil, err
	}
	return e, e.conn.QueryRowContext(ctx, "SELECT version()").Scan(&e.version)
}

func (e *Engine) Name() string    { return "DuckDB" }
func (e *Engine) Version() string { return e.version }

func (e *Engine) Close() error {
	if err := e.conn.Close(); err != nil {
		return err
	}
	return e.db.Close()
}

// Load copies a file of columns into table t.
func (e *Engine) Load(_ *work.Group, path string) error {
	_, err := e.conn.ExecContext(context.Background(),
		fmt.Sprintf("CREATE OR REPLACE TABLE t AS SELECT * FROM read_parquet('%s')", strings.ReplaceAll(path, "'", "''")))
	return err
}

// Unload drops the table.
func (e *Engine) Unload() error {
	_, err := e.conn.ExecContext(context.Background(), "DROP TABLE IF EXISTS t")
	return err
}

// Start prepares a case: a statement whose result stays in DuckDB and is dropped there.
func (e *Engine) Start(c work.Case) (race.Runner, error) {
	if c.SQL == "" {
		return nil, race.ErrCannot
	}
	_, typ := work.CastTarget(c.Type)
	set := make([]string, 0, 100)
	for _, v := range work.Set() {
		set = append(set, fmt.Sprint(v))
	}
	query := strings.NewReplacer("$type", typ, "$half", fmt.Sprint(c.Half()), "$word", "'"+work.Word()+"'",
		"$set", strings.Join(set, ", ")).Replace(c.SQL)
	stmt, err := e.conn.PrepareContext(context.Background(), "SELECT "+query)
	if err != nil {
		return nil, err
	}
	return &runner{e: e, c: c, query: query, stmt: stmt}, nil
}

type runner struct {
	e     *Engine
	c     work.Case
	query string
	stmt  *sql.Stmt
}

func (r *runner) Variant() string { return "" }
func (r *runner) Close()          { _ = r.stmt.Close() }

func (r *runner) Run(n int) (time.Duration, error) {
	ctx, start := context.Background(), time.Now()
	for range n {
		if _, err := r.stmt.ExecContext(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// Check aggregates the result inside DuckDB.
func (r *runner) Check() ([]float64, error) {
	var a, b sql.NullFloat64
	switch {
	case r.c.Name == "min_max":
		err := r.e.conn.QueryRowContext(context.Background(),
			"SELECT x::DOUBLE, y::DOUBLE FROM (SELECT "+strings.Replace(r.query, "min(a), max(a)", "min(a) AS x, max(a) AS y", 1)+")").Scan(&a, &b)
		return []float64{a.Float64, b.Float64}, err
	case r.c.Scalar:
		err := r.e.conn.QueryRowContext(context.Background(), "SELECT "+strings.Replace(r.query, " FROM", "::DOUBLE FROM", 1)).Scan(&a)
		return []float64{a.Float64}, err
	}
	err := r.e.conn.QueryRowContext(context.Background(),
		"SELECT count(x)::DOUBLE, coalesce(sum(x::DOUBLE), 0) FROM (SELECT "+strings.Replace(r.query, " FROM", " AS x FROM", 1)+")").Scan(&a, &b)
	return r.c.Agreed([]float64{a.Float64, b.Float64}), err
}
