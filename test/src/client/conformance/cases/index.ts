import type { Case } from '../case.ts'
import { firstRequestCases } from './first-request.ts'
import { otherCases } from './other-calls.ts'
import { uploadCases } from './uploads.ts'
import { waitCases } from './waits.ts'

/** What every client of the API must do. */
export const cases: readonly Case[] = [...firstRequestCases, ...uploadCases, ...waitCases, ...otherCases]
