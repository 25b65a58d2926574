import { type RawBuilder, sql } from 'kysely'

/**
 * A place in a list whose newest row comes first: a row's time, and a number that orders rows of the same time. The
 * next page of the list begins after that row.
 */
export interface ListPosition {
  /** Microseconds since 1970, as digits. Postgres's times have microseconds, a `Date` has not. */
  atUs: string
  number: number
}

/** Builds the expression that selects a row's time in the form of `atUs` of {@link ListPosition}. */
export const microsecondsOf = (time: RawBuilder<unknown>) =>
  sql<string>`(extract(epoch from ${time}) * 1000000)::bigint::text`

/** Builds the condition that a row follows a position. An index on both columns finds the first such row. */
export function followsPosition(time: RawBuilder<unknown>, number: RawBuilder<unknown>, position: ListPosition) {
  const at = sql`timestamptz 'epoch' + ${position.atUs}::bigint * interval '1 microsecond'`
  return sql<boolean>`(${time}, ${number}) < (${at}, ${position.number}::bigint)`
}

/** Formats a position for an address. */
export function formatPosition({ atUs, number }: ListPosition): string {
  return `${atUs}~${number}`
}

/**
 * Parses a position. Returns undefined if the text is not one. Postgres can compare every position that is returned.
 */
export function parsePosition(text: string): ListPosition | undefined {
  const [, atUs, number] = /^(\d{1,16})~(\d{1,15})$/.exec(text) ?? []
  return atUs === undefined ? undefined : { atUs, number: Number(number) }
}

/**
 * Parses a time by which a list is filtered. Returns undefined for an empty text, and null if the text is no time from
 * the year 1000 on. Postgres knows no year before 4713 BC, and `Date` does.
 */
export function parseFilterTime(text: string): Date | undefined | null {
  if (text === '') return undefined
  return /^[1-9]\d{3}-/.test(text) && !Number.isNaN(Date.parse(text)) ? new Date(text) : null
}
