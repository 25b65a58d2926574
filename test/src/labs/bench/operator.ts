import assert from 'node:assert/strict'
import { addOperator } from '@sluice/sign-in'
import { signIn, type Visitor } from '../../dashboard/visitor.ts'
import type { RunningStack } from '../../stack/running-stack.ts'

/** Signs in to a stack's dashboard as an operator. */
export async function signInAsOperator(stack: RunningStack): Promise<Visitor> {
  const email = 'operator@example.com'
  const { dashboard } = await stack.info()
  assert(dashboard)
  await addOperator(stack.db, email)
  return await signIn({ db: stack.db, url: dashboard }, email)
}
