import { createInterface } from 'node:readline/promises'
import { Failure } from '@sluice/client-cli/failure'

/** Asks a question on the terminal. Throws {@link Failure} unless the answer is yes. */
export async function ask(question: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('nothing was done')
}
