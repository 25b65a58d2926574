import { sql } from '@sluice/database'
import { messageOf, type Problem } from './problems.ts'

/** Messages that are counted apart, at most; the rows of all others are counted together. */
const mostMessages = 100

/** Characters of a message that are kept: it may name a column. */
const messageLength = 300

/** Stands for all messages beyond {@link mostMessages}. */
const otherMessages = 'other messages'

/** Counts the rows of a batch by message. */
export class ErrorCounts {
  readonly #columns: readonly string[]
  readonly #counts = new Map<Problem, number>()

  /** Accepts the uploaded columns. */
  constructor(columns: readonly string[]) {
    this.#columns = columns
  }

  /** Counts an invalid row under each of its problems. */
  add(problems: readonly Problem[]): void {
    for (const problem of problems) this.#counts.set(problem, (this.#counts.get(problem) ?? 0) + 1)
  }

  /**
   * What is to be set in the import's row beside the counters of the batch: the statement that commits the batch does the
   * adding, so that it takes no look at the row before. Sets nothing where no row was invalid.
   */
  added(): { error_counts?: ReturnType<typeof sumOf> } {
    return this.#counts.size === 0 ? {} : { error_counts: sumOf(this.#byMessage()) }
  }

  #byMessage(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const [problem, rows] of this.#counts) {
      const message = messageOf(problem, this.#columns)
      const text = message.length > messageLength ? `${message.slice(0, messageLength).toWellFormed()}…` : message
      const name = counts.has(text) || counts.size < mostMessages ? text : otherMessages
      counts.set(name, (counts.get(name) ?? 0) + rows)
    }
    return counts
  }
}

/** The import's counts with some more; messages that were counted before are the last ones to be counted together. */
function sumOf(counts: ReadonlyMap<string, number>) {
  return sql<string>`(
    select jsonb_object_agg(message, rows) from (
      select case when place <= ${mostMessages}::integer then message else ${otherMessages}::text end as message,
        sum(rows) as rows
      from (
        select message, sum(rows) as rows, row_number() over (order by max(known) desc, sum(rows) desc, message) as place
        from (
          select key as message, value::bigint as rows, 1 as known from jsonb_each_text(imports.error_counts)
          union all
          select key, value::bigint, 0 from jsonb_each_text(${JSON.stringify(Object.fromEntries(counts))}::jsonb)
        ) both_counts
        group by message
      ) ranked
      group by 1
    ) bounded
  )`
}
