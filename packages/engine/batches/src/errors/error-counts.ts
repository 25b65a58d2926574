import { type RawBuilder, sql } from '@sluice/database'
import { messageOf, type Problem } from './problems.ts'

/** Maximum number of messages that are counted separately. The rows of all other messages are counted together. */
const maxMessages = 100

/** Maximum number of characters of a message that are kept: a message names a column, whose name may be long. */
const messageLength = 300

/** Stands for all messages beyond {@link maxMessages}. */
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
   * Returns an expression that adds these counts to `known`, a column of counts as JSON. If there are more than
   * {@link maxMessages} messages, known messages keep their own count first, then the most frequent ones.
   */
  addedTo(known: RawBuilder<unknown>): RawBuilder<string> {
    return sql<string>`(
      select jsonb_object_agg(message, rows) from (
        select case when place <= ${maxMessages}::integer then message else ${otherMessages}::text end as message,
          sum(rows) as rows
        from (
          select message, sum(rows) as rows, row_number() over (order by max(known) desc, sum(rows) desc, message) as place
          from (
            select key as message, value::bigint as rows, 1 as known from jsonb_each_text(${known})
            union all
            select key, value::bigint, 0 from jsonb_each_text(${JSON.stringify(this.#byMessage())}::jsonb)
          ) both_counts
          group by message
        ) ranked
        group by 1
      ) bounded
    )`
  }

  #byMessage(): Record<string, number> {
    const counts = new Map<string, number>()
    for (const [problem, rows] of this.#counts) {
      const message = messageOf(problem, this.#columns)
      const text = message.length > messageLength ? `${message.slice(0, messageLength).toWellFormed()}…` : message
      const name = counts.has(text) || counts.size < maxMessages ? text : otherMessages
      counts.set(name, (counts.get(name) ?? 0) + rows)
    }
    return Object.fromEntries(counts)
  }
}
