import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { sluice } from './command-line.ts'

test('operators are listed by address, and a removed one no longer', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  const run = (...args: string[]) => sluice(database, ['operators', ...args])
  expect((await run('list')).json).toEqual([])
  for (const name of ['olga', 'ben']) await run('add', '--email', `${name}@example.com`)
  const added = (email: string) => ({ email, created_at: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect((await run('list')).json).toEqual([added('ben@example.com'), added('olga@example.com')])
  await run('remove', '--email', 'ben@example.com')
  expect((await run('list')).json).toEqual([added('olga@example.com')])
})
