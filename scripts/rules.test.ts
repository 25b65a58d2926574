import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './modules.ts'

// rules.txt lists the rules of the specification, one a line: `section | rule | code | test`. The code, one file or
// several with commas, decides the rule, and the test proves it. All cite the section in a comment: a search for
// `service.md, Limits` finds the code and the test. A rule with `-` is decided everywhere, or by a library.
const rules = readFileSync(join(root, 'scripts/rules.txt'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split(' | '))

/** Tests that `npm test` leaves out. They need PgBouncer, or several servers of Redis, so no short test can exist. */
const longTests = ['test/src/infra/poolers.long.test.ts', 'test/src/infra/redis-servers.long.test.ts']

/** Whether a comment of the file cites this section, and not one whose name only begins with the same words. */
function cites(path: string, section: string): boolean {
  if (!existsSync(join(root, path))) return false
  const comments = readFileSync(join(root, path), 'utf8').match(/^\s*(?:\/\/|\/?\*|--).*/gm) ?? []
  return comments.some((comment) => comment.split(section).some((after, index) => index > 0 && !/^ ?\w/.test(after)))
}

test('the code of each rule of the specification, and a test that npm test runs, cite its section', () => {
  const missing = rules.flatMap(([section = '', rule = '', code = '', test = '']) =>
    [...code.split(', '), test]
      .filter((path) => path !== '-' && !cites(path, section))
      .map((path) => `${path} does not cite "${section}": ${rule}`),
  )
  expect(missing).toEqual([])
  const tests = rules.map(([, , , test = '']) => test).filter((test) => !longTests.includes(test))
  expect(tests.filter((test) => !/(?<!\.long)\.test\.ts$/.test(test))).toEqual([])
})
