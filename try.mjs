const {analyze}=await import('./node_modules/.cache/try/dist/apps/chimech/analyze/analyze.js');
const {analyzeContent}=await import('./node_modules/.cache/try/dist/apps/chimech/analyze/analyze-content.js');
const run=(t)=>analyzeContent(t);
const go=async(type,content,options={})=>{try{const r=await analyze({type,content,options:{format:'detailed',...options}},{signal:new AbortController().signal,run});console.log('-----',type,JSON.stringify(content.slice(0,60)));console.log(r.text);console.log(JSON.stringify(r.analysis.structure).slice(0,900),JSON.stringify(r.analysis.keywords))}catch(e){console.log('-----',JSON.stringify(content.slice(0,60)),e.name,e.code,e.message,e.code==='INTERNAL_ERROR'?e.stack:'')}};
await go('text','The quick brown fox jumps over the lazy dog.');
await go('text',`# Release notes

Signalbox is a chat gateway. It runs tools for any client, e.g. Dr. Smith's agent. The gateway calls the model; the model asks for tools.

## What is new

- a queue
- a policy
  - nested item

1. first
2. second

| a | b |
|---|---|
| x y | z |

\`\`\`js
const a = 1;
\`\`\`

The chat gateway keeps sessions. Every session has a workspace. A chat gateway without sessions would be simpler, but tools need files.
`);
await go('text',`第一章 人工智能的发展
人工智能正在改变我们的生活。机器学习算法能够从大量数据中发现规律，并用于预测未来的趋势！
一、应用
深度学习在图像识别中表现出色。人工智能也用于语音识别和机器翻译。你准备好了吗？`);
await go('text','Le chat est sur la table et il ne veut pas descendre parce que la pluie tombe depuis ce matin dans toute la ville de Paris.');
await go('text','これは日本語の文章です。とても短いです。');
await go('text','   \n');await go('text','a\0b');await go('text','h\0e\0l\0l\0o\0');await go('text','\ufeffHello world.\r\nNext line.');await go('text','CafÃ© dÃ©jÃ  vu â€™ Ã©tÃ© Ã©');
await go('code',`package main

import (
	"fmt"
	q "os"
)

// Greeter greets.
type Greeter struct{ name string }

func (g *Greeter) Greet(times int) error {
	for i := 0; i < times; i++ {
		if i%2 == 0 && g.name != "" {
			fmt.Println(g.name)
		} else if i > 3 {
			return nil
		}
	}
	return nil
}
`);
await go('code',`import os, sys
from a.b import c as d

class A(B):
    """doc"""
    def m(self, x=1):
        # 注释：这是一个函数
        if x and y:
            for i in range(3):
                pass
        elif z: pass
        return [i for i in x if i]

f = lambda x: x if x else 1
`);
await go('code',`use std::io::{self, Read};
pub fn parse(x: &str) -> Result<u8, E> {
    let v = x.parse()?;
    match v { 1 => Ok(1), _ if v > 3 => Ok(2), _ => Err(E) }
}
`);
await go('code',`import java.util.List;
public class A extends B {
  public int m(int x) { switch (x) { case 1: return 2; default: return x > 3 ? 1 : 0; } }
  Runnable r = () -> { };
}`);
await go('code','function broken( { if (a { return 1;\n}\nfunction ok() {}\n');
await go('code','This is just prose and not code, it says nothing. Or does it?\nNo, really nothing at all.\n');
await go('code','SELECT * FROM users WHERE id = 1;');
await go('code','x',{language:'cobol'});
await go('data','id,name,price,when\n1,"A, b",3.5,2024-01-02\n2,,4,2024-02-03\n003,c,NA,\n');
await go('data','[{"id":1,"tags":["a"],"address":{"city":"Paris"}},{"id":2.5,"address":null}]');
await go('data','{"a":1}\n{"a":2}\n{bad\n');
await go('data','{"a": 1,\n "b": [1, 2');
await go('data','name: x\nlist:\n  - a\n  - b: {c: 1}\n');
await go('data','姓名\t年龄\n张三\t20\n李四\t30\n');
await go('data','hello');await go('data','a;b\n1;2\n3;4');await go('data','1,2\n3,4,5\n6,7');await go('data','"a,b\n1,2');
await go('data','a: &a [x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d]\n');
await go('data','['.repeat(100000)+']'.repeat(100000));
await go('code','{['.repeat(100000),{language:'js'});
