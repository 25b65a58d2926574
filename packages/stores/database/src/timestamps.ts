import type { ColumnType } from 'kysely'

/** Columns of points in time, as Kysely reads and writes them. */
export type Timestamp = ColumnType<Date, Date | string | undefined, Date | string>
export type NullableTimestamp = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
