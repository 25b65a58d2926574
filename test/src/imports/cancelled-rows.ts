import { type ImportFixture, importFile, openApp } from './import-fixture.ts'

/** The users that the rows name, all of them registered. */
const users = Array.from({ length: 23 }, (_, index) => `u${index}`)

/** Creates an app with the users `u0` to `u22`, the int key `n`, and a profile of `u1`. Returns the app's ID. */
export async function openAppWithUsers(fixture: ImportFixture): Promise<number> {
  const appId = await openApp(fixture, users)
  await importFile(fixture, appId, 'user_id,n,file\nu1,1,none\n')
  return appId
}

/** A row of a file that a test cancels midway. */
export interface Row {
  user: string
  n: string
  file: string
}

/** Returns rows. In every seventh row, `n` is no int. */
export function rowsOf(file: string): Row[] {
  return Array.from({ length: 64 }, (_, index) => ({
    user: users[(index * 5) % users.length] ?? '',
    n: index % 7 === 3 ? 'x' : String(index),
    file,
  }))
}

export const isValid = ({ n }: Row) => n !== 'x'

export const csvOf = (rows: readonly Row[]) =>
  `user_id,n,file\n${rows.map(({ user, n, file }) => `${user},${n},${file}\n`).join('')}`

export function errorLines(rows: readonly Row[]): string {
  const lines = rows
    .filter((row) => !isValid(row))
    .map(({ user, n, file }) => `n should be integer,${user},${n},${file}`)
  return ['SERVICE_ERRORS,user_id,n,file', ...lines, ''].join('\n')
}

/** Returns the profiles of the app's users after these rows were applied in this order. */
export function applied(rows: readonly Row[]): Record<string, unknown> {
  const profiles: Record<string, unknown> = Object.fromEntries(users.map((user) => [user, {}]))
  profiles.u1 = { n: 1, file: 'none' }
  for (const { user, n, file } of rows.filter(isValid)) profiles[user] = { n: Number(n), file }
  return profiles
}
