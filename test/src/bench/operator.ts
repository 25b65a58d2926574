import assert from 'node:assert/strict'
import { openVisitor, type Visitor } from '../dashboard/visitor.ts'
import type { RunningStack } from '../stack/running-stack.ts'

/** Signs in to a stack's dashboard as an operator. */
export async function signInAsOperator(stack: RunningStack): Promise<Visitor> {
  await stack.sluice('operator', 'add', '--email', 'operator@example.com')
  const { json } = await stack.sluice('dashboard', 'link', '--email', 'operator@example.com')
  const { dashboard } = await stack.info()
  assert(dashboard)
  const visitor = openVisitor({ url: dashboard })
  await visitor.post((json as { url: string }).url)
  return visitor
}
