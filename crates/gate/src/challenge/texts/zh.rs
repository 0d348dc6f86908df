//! Chinese, in simplified characters.

use super::Ask;
use super::Group;
use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "请稍候",
    challenge_why: "来自您所在网络的请求访问了本网站的大量页面。为了让网站对访客保持快速，您的浏览器会进行一次短暂的计算。",
    challenge_calm: "您无需任何操作；您的任何信息都不会转交给他人。",
    working: "您的浏览器正在计算…",
    left: "大约还剩 {n} 秒。",
    done: "完成，正在加载页面。",
    progress: "计算进度",
    repeated: "没有成功，正在重试…",
    no_cookies: "请允许本网站使用 Cookie，然后重试。没有 Cookie，网站无法记住您的浏览器已经完成验证。",
    failed: "您的浏览器未能完成验证。请重试、更新浏览器，或关闭会更改本网站页面或 Cookie 的扩展程序。",
    again: "重试",
    noscript: "本页面需要 JavaScript 在您的浏览器中进行一次短暂的计算。请为本网站启用 JavaScript 并重新加载页面。如果无法启用，请联系网站运营者。",
    contact: "网站运营者的联系方式：",
    no_contact: "网站运营者没有在此留下联系方式，请使用您已有的联系方式。",
    incident: "事件编号",
    block_title: "无法访问",
    block_why: "来自您所在网络的请求看起来像是由复制本网站的程序发出的。",
    block_cure: "如果您是普通访客，这是一个误判。请将下面的编号告诉网站运营者：凭编号可以查明拒绝访问的原因，运营者可以为您开放访问。",
    block_back: "我是真人：让我的浏览器进行一次较长的计算",
    throttle_title: "请稍等片刻",
    throttle_why: "短时间内请求的页面过多。",
    throttle_cure: "您可以在 {n} 秒后继续。",
    upstream_title: "网站没有响应",
    upstream_unreachable: "无法连接到本页面的服务器，或者服务器返回了无效的响应。",
    upstream_late: "本页面的服务器响应时间过长。",
    upstream_cure: "这不是您的问题。请几分钟后再试。",
    question_title: "一个简短的问题",
    question_why: "您的浏览器无法完成计算，例如因为 JavaScript 已被关闭。请改为回答下面的问题。",
    question_hint: "请用数字回答。打开本页面 {n} 秒之后提交的答案才有效，因此不必着急；等待是为了防止程序成千上万次地重复这一操作。",
    question_send: "提交答案",
    question_wrong: "这个数字不对，请再试一次。",
    question_early: "答案正确，但提交得太早。请在 {n} 秒后再次提交。",
    question_new: "上一个问题已失效，请回答新的问题。",
    question_other: "换一个问题",
    question_instead: "改为回答问题",
    cookies_title: "需要 Cookie",
    cookies_cure: "如果您不想允许 Cookie，可以联系网站运营者寻求帮助。",
    ask: Ask {
        numbers: [
            "零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二",
            "十三", "十四", "十五", "十六", "十七", "十八", "十九", "二十",
        ],
        comma: "、",
        plus: "{a}加{b}等于多少？",
        minus: "{a}减{b}等于多少？",
        largest: "下列数字中哪个最大？{list}",
        groups: [
            Group {
                words: ["狗", "猫", "马", "牛", "羊", "鸭子"],
                place: "动物前面的编号是多少？{list}",
                count: "下列词语中有几个是动物？{list}",
            },
            Group {
                words: ["苹果", "梨", "香蕉", "樱桃", "柠檬", "草莓"],
                place: "水果前面的编号是多少？{list}",
                count: "下列词语中有几个是水果？{list}",
            },
            Group {
                words: ["衬衫", "大衣", "帽子", "鞋子", "袜子", "手套"],
                place: "衣物前面的编号是多少？{list}",
                count: "下列词语中有几个是衣物？{list}",
            },
        ],
    },
};
