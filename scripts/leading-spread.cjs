// A plugin of the build (nest-cli.json): emits `{ ...a, b }` as `{ ...{}, ...a, b }`. Both mean the same. But V8 before 12
// (Node 20) gives each object of the first form a hidden class of its own: making one is slow, and no access to its members is
// ever cached. To be deleted with the support of Node 20.
const ts = require('typescript');

exports.before = () => (context) => {
  const { factory } = context;
  const visit = (node) => {
    const seen = ts.visitEachChild(node, visit, context);
    if (!ts.isObjectLiteralExpression(seen) || seen.properties.length < 2) return seen;
    if (!ts.isSpreadAssignment(seen.properties[0])) return seen;
    const nothing = factory.createSpreadAssignment(factory.createObjectLiteralExpression());
    return factory.updateObjectLiteralExpression(seen, [nothing, ...seen.properties]);
  };
  return (file) => ts.visitNode(file, visit);
};
