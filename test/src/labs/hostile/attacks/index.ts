import type { Attack } from '../attack.ts'
import { answerAttacks } from './answers.ts'
import { apiAttacks } from './api.ts'
import { dashboardAttacks } from './dashboard.ts'
import { errorFileAttacks } from './error-files.ts'
import { fairnessAttacks } from './fairness.ts'
import { fileAttacks } from './files.ts'
import { gatewayAttacks } from './gateway.ts'
import { mailAttacks } from './mails.ts'
import { storedAttacks } from './stored.ts'

export const attacks: readonly Attack[] = [
  ...fileAttacks,
  ...errorFileAttacks,
  ...fairnessAttacks,
  ...gatewayAttacks,
  ...apiAttacks,
  ...mailAttacks,
  ...dashboardAttacks,
  ...storedAttacks,
  ...answerAttacks,
]
