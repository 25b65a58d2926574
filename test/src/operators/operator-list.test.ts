import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { runSluice } from '../environment/sluice-command.ts'
import { until } from '../environment/wait.ts'
import { openTerminal } from '../stack/terminal.ts'
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

test('without a terminal, the last operator is removed without a question, and the command says that none is left', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  for (const name of ['olga', 'ben']) await sluice(database, ['operators', 'add', '--email', `${name}@example.com`])
  const remove = (email: string) => runSluice(['operators', 'remove', '--email', email], { DATABASE_URL: database.url })
  const one = 'olga@example.com is no longer an operator.\n'
  expect(await remove('olga@example.com')).toMatchObject({ code: 0, stdout: one })
  const last = 'Ben@example.com is no longer an operator. No operators are left: sluice operators add makes one.\n'
  expect(await remove('Ben@example.com')).toMatchObject({ code: 0, stdout: last })
})

test.runIf(process.platform === 'linux')(
  'on a terminal, the removal of the last operator first says what it means, and how to add one again',
  async () => {
    const database = await openTestDatabase()
    onTestFinished(() => database.close())
    const operators = async () => (await sluice(database, ['operators', 'list'])).json as { email: string }[]
    for (const name of ['olga', 'ben']) await sluice(database, ['operators', 'add', '--email', `${name}@example.com`])
    const remove = (email: string) =>
      openTerminal('cli', ['operators', 'remove', '--email', email], { DATABASE_URL: database.url })
    expect(await remove('olga@example.com').code).toBe(0)
    for (const [reply, code, left] of [
      ['n', 1, 1],
      ['y', 0, 0],
    ] as const) {
      const terminal = remove('ben@example.com')
      await until('the question', () => terminal.shown().includes('Remove ben@example.com? [y/N] '))
      const shown = terminal.shown().replaceAll(/\s+/g, ' ')
      expect(shown).toContain('ben@example.com is the last operator. Without one, nobody can sign in as an operator')
      expect(shown).toContain('sluice operators add --email <address>')
      terminal.type(`${reply}\r`)
      expect(await terminal.code).toBe(code)
      expect(await operators()).toHaveLength(left)
    }
  },
)
