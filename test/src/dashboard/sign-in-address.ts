import { createLink } from '@sluice/sign-in'
import type { TestDashboard } from './test-dashboard.ts'

/** Creates a sign-in link. Returns its address, as `sluice dashboard link` prints it. */
export async function signInAddress({ db, url }: Pick<TestDashboard, 'db' | 'url'>, email: string): Promise<string> {
  const link = await createLink(db, email)
  if (link === undefined) throw new Error(`${email} may not sign in`)
  return `${url}/sign-in/${link.secret}`
}
