import { describe, expect, test } from 'vitest'
import { parseCommand } from './arguments.ts'

const access = { SLUICE_API: 'https://api.example.com', SLUICE_TOKEN: 'slc_1_x' }

describe('the command that arguments name', () => {
  test('an option precedes the environment', () => {
    const args = ['import', 'people.csv', '--api', 'http://localhost:3000', '--token', 'slc_2_y']
    expect(parseCommand(args, access)).toMatchObject({ api: 'http://localhost:3000', token: 'slc_2_y' })
    expect(parseCommand(['show', '7'], access)).toMatchObject({ api: access.SLUICE_API, token: access.SLUICE_TOKEN })
  })

  test('the options of an import become those of the client', () => {
    const args = ['--type', 'zip=string', '--type', 'a=b=int', '--hold-if', 'new_keys=0', '--dry-run']
    const { upload } = parseCommand(['import', 'people.csv', ...args], access) as { upload: unknown }
    expect(upload).toEqual({ dryRun: true, profileTypes: { zip: 'string', 'a=b': 'int' }, holdIf: { new_keys: 0 } })
  })

  test('without arguments, or with --help, the help is printed', () => {
    expect(parseCommand([], {})).toBe('help')
    expect(parseCommand(['import', '--help'], {})).toBe('help')
    expect(parseCommand(['--version'], {})).toBe('version')
  })

  test.each([
    [['import'], 'the file is missing'],
    [['cancel'], "the import's ID is missing"],
    [['export', 'a'], 'there is no command export'],
    [['--wait'], 'the command is missing'],
    [['import', 'a', 'b'], 'b is too much'],
    [['import', 'a', '--gzip'], "Unknown option '--gzip'. sluice-client --help"],
    [['import', 'a', '--api', 'localhost:3000'], 'localhost:3000 is not an http address'],
    [['import', 'a', '--type', 'zip'], 'zip should be KEY=TYPE'],
    [['import', 'a', '--type', 'zip=int', '--type', 'zip=string'], 'zip has two types'],
    [['import', 'a', '--new-keys', 'drop'], '--new-keys must be register or refuse'],
    [['import', 'a', '--hold-if', 'sometimes'], '--hold-if must be always, never, or bounds'],
  ])('%j is wrong usage, and the message says why: %s', (args, message) => {
    expect(() => parseCommand(args, access)).toThrow(expect.objectContaining({ exitCode: 2 }))
    expect(() => parseCommand(args, access)).toThrow(message)
  })

  test('an address and a token must be given', () => {
    expect(() => parseCommand(['show', '7'], { SLUICE_TOKEN: 't' })).toThrow('--api (or SLUICE_API) is missing')
    expect(() => parseCommand(['show', '7'], { SLUICE_API: 'http://a' })).toThrow(
      '--token (or SLUICE_TOKEN) is missing',
    )
  })
})
