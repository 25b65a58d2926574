import { expect, test } from 'vitest'
import { commandFiles, openProgram } from './program.ts'

/** Returns the commands of the program that is opened with these arguments, each as `name: description`. */
async function listed(args: readonly string[]): Promise<string[]> {
  return (await openProgram(args)).commands.map((command) => `${command.name()}: ${command.description()}`)
}

test('the list of commands names every command of every file, with its description and in its order', async () => {
  const words = commandFiles.flatMap((file) => Object.keys(file.words))
  expect(await listed([])).toEqual(await listed(words))
  expect(await listed([])).toHaveLength(words.length)
})

test('a command is loaded wherever its word stands among options', async () => {
  const program = await openProgram(['--json', 'keys', '--app', '1'])
  const ready = program.commands.filter(({ options }) => options.length > 0)
  expect(ready.map((command) => command.name())).toEqual(['keys'])
})

test('help lists the commands of API clients before those of operators', async () => {
  const help = (await openProgram([])).helpInformation()
  expect(help.indexOf('API clients:')).toBeLessThan(help.indexOf('  import '))
  expect(help.indexOf('  import ')).toBeLessThan(help.indexOf('Operators:'))
  expect(help.indexOf('Operators:')).toBeLessThan(help.indexOf('  migrate'))
})
