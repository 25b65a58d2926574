import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { commands, fullForm, openProgram } from './program.ts'

/** Returns the full form of a command line. */
async function full(line: string): Promise<string> {
  const args = line.split(' ')
  return fullForm(await openProgram(args), args).join(' ')
}

test.each([
  ['import people.csv --wait', 'imports create people.csv --wait'],
  ['import --token T people.csv', 'imports create --token T people.csv'],
  ['import --help', 'imports create --help'],
  ['import show 7', 'imports show 7'],
  ['import retry 7', 'imports retry 7'],
  ['imports --app 1', 'imports list --app 1'],
  ['export --out f', 'exports create --out f'],
  ['app create --name N', 'apps create --name N'],
  ['token register --app 1', 'tokens register --app 1'],
  ['user show --app 1 u', 'users show --app 1 u'],
  ['keys --app 1', 'keys list --app 1'],
  ['--json keys --app 1', '--json keys list --app 1'],
  ['keys add --app 1 zip=string', 'keys add --app 1 zip=string'],
  ['keys --app 1 add zip=string', 'keys add --app 1 zip=string'],
  ['keys --app=1 --json add zip=string', 'keys add --app=1 --json zip=string'],
  ['keys --app list', 'keys list --app list'],
  ['import --token show people.csv', 'imports create --token show people.csv'],
  ['constructor', 'constructor'],
  ['key create --app 1', 'access-keys create --app 1'],
  ['member add --app 1', 'members add --app 1'],
  ['operator add --email e', 'operators add --email e'],
  ['webhook rotate --app 1 e', 'webhooks rotate --app 1 e'],
  ['deletions --app 1', 'deletions list --app 1'],
  ['deletions run --now t', 'deletions run --now t'],
])('the documented form %s stands for %s', async (documented, stated) => {
  expect(await full(documented)).toBe(stated)
})

test('a noun alone lists; help, and a verb with a mistake, are not taken for a list', async () => {
  expect(await full('apps')).toBe('apps list')
  expect(await full('tokens')).toBe('tokens')
  expect(await full('keys --help')).toBe('keys --help')
  expect(await full('keys ad --app 1')).toBe('keys ad --app 1')
  expect(await full('help keys add')).toBe('keys add --help')
  expect(await full('help import')).toBe('imports create --help')
  expect(await full('help')).toBe('--help')
  expect(await full('help kyes')).toBe('kyes')
})

test('a command is loaded wherever its word stands among options', async () => {
  const program = await openProgram(['--json', 'key', '--app', '1'])
  const loaded = program.commands.filter((each) => each.commands.length > 0)
  expect(loaded.map((each) => each.name())).toEqual(['access-keys'])
})

test('SLUICE_TOKEN does not make a client of an operator who shows or changes an import', async () => {
  const program = await openProgram(['imports'])
  const verbs = program.commands.find((each) => each.name() === 'imports')?.commands ?? []
  const fromEnvironment = verbs.filter(({ options }) => options.some(({ envVar }) => envVar === 'SLUICE_TOKEN'))
  expect(fromEnvironment.map((each) => each.name())).toEqual(['create', 'list'])
})

test('help lists the commands of API clients before those of operators, and other forms in a line of their own', async () => {
  const program = await openProgram([])
  const help = program.helpInformation()
  expect(help.indexOf('API clients:')).toBeLessThan(help.indexOf('  imports '))
  expect(help.indexOf('  imports ')).toBeLessThan(help.indexOf('Operators:'))
  expect(help.indexOf('Operators:')).toBeLessThan(help.indexOf('  migrate'))
  expect(help).not.toMatch(/^ {2}(import|key|app) /m)
})

// design.md §2, Output.
test('every list has --wide, and everything that does something has --json', async () => {
  const program = await openProgram(Object.keys(commands))
  const leaves = (command: Command): Command[] =>
    command.commands.length > 0 ? command.commands.flatMap(leaves) : [command]
  const optionsOf = (command: Command) => command.options.map(({ long }) => long)
  expect(leaves(program).filter((each) => !optionsOf(each).includes('--json'))).toEqual([])
  const lists = leaves(program).filter((each) => optionsOf(each).includes('--wide'))
  expect(lists.map((each) => each.parent?.name())).toEqual([
    'imports',
    'apps',
    'keys',
    'deletions',
    'operators',
    'access-keys',
    'webhooks',
  ])
})
