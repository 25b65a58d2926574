export { runProgram, testWith } from './command.ts'
export { conditionalHeaders } from './model.ts'
export { answerOf, begin, type RawAnswer, type RawRequest, send } from './raw-request.ts'
