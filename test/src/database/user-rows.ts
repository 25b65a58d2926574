import { copyInto } from '@sluice/database'

/** Columns of {@link userRow}. */
export const userColumns = ['app_id', 'user_id'] as const

/** Returns a user of the app 1 as a row for `copyInto`. */
export function userRow(userId: string): Buffer {
  const id = Buffer.from(userId)
  const row = Buffer.from([0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0])
  row.writeInt32BE(id.length, row.length - 4)
  return Buffer.concat([row, id])
}

/** Returns the COPY that adds users to the app 1. */
export function copyUsers(...userIds: string[]) {
  return copyInto('users', userColumns, Buffer.concat(userIds.map(userRow)))
}
