export { createLink, linkMinutes, type SignInLink } from './link.ts'
export { addOperator, removeOperator } from './operator.ts'
export { endSession, findVisitor, redeemLink, sessionDays, type Visitor } from './session.ts'
export { openSigner, type Signer } from './signer.ts'
