import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './modules.ts'

// rules.txt lists the rules of the specification, one a line: `section | rule | code | test`. The code, one file or
// several with commas, decides the rule, and the test proves it. All cite the section in a comment: a search for
// `service.md, Limits` finds the code and the test. In a test file, the comment is above or inside a test, so that it
// names the test and not only the file. A rule with `-` is decided everywhere, or by a library.
const rules = readFileSync(join(root, 'scripts/rules.txt'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split(' | '))

/** Tests that `npm test` leaves out. They need PgBouncer, or several servers of Redis, so no short test can exist. */
const longTests = ['test/src/infra/poolers.long.test.ts', 'test/src/infra/redis-servers.long.test.ts']

/** Whether a comment of the text cites this section, and not one whose name only begins with the same words. */
function cites(text: string, section: string): boolean {
  const comments = text.match(/^\s*(?:\/\/|\/?\*|--).*/gm) ?? []
  return comments.some((comment) => comment.split(section).some((after, index) => index > 0 && !/^ ?\w/.test(after)))
}

/** Returns the text of a file, `''` if there is none. */
const textOf = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '')

/** Returns the tests of a file, with the comments directly above them. Their bodies are indented. */
function testsOf(path: string): string {
  const tests = /^(?:(?:\/[/*]| \*).*\n)*(?:test|describe\w*|withRedis|onLinux)\b.*\n(?:(?:[\s\])}].*)?\n)*/gm
  return textOf(path).match(tests)?.join('') ?? ''
}

test('the code of each rule of the specification, and a test that npm test runs, cite its section', () => {
  const missing = rules.flatMap(([section = '', rule = '', code = '', test = '']) => {
    const places = new Map(code.split(', ').map((path) => [path, textOf(path)])).set(`a test of ${test}`, testsOf(test))
    places.delete('-')
    return [...places]
      .filter(([, text]) => !cites(text, section))
      .map(([place]) => `${place} does not cite "${section}": ${rule}`)
  })
  expect(missing).toEqual([])
  const files = rules.map(([, , , test = '']) => test).filter((test) => !longTests.includes(test))
  expect(files.filter((test) => !/(?<!\.long)\.test\.ts$/.test(test))).toEqual([])
})
