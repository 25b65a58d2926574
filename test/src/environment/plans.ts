import type { CompiledQuery, Database } from '@sluice/database'

/** Runs `act`, and then its statements once more. Returns the plans that Postgres used for them, as text. */
export async function plansOf(db: Database, act: (watched: Database) => Promise<unknown>): Promise<string> {
  const statements: CompiledQuery[] = []
  const watched = db.withPlugin({
    transformQuery: ({ node }) => {
      statements.push(db.getExecutor().compileQuery(node, { queryId: crypto.randomUUID() }))
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await act(watched)
  const plans: string[] = []
  for (const query of statements) {
    const explain = { ...query, sql: `explain (analyze, costs off, timing off) ${query.sql}` }
    const { rows } = await db.executeQuery<{ 'QUERY PLAN': string }>(explain)
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
  }
  return plans.join('\n')
}
